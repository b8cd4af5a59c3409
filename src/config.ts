import { join } from "node:path";
import {
  credentialFiles,
  type GithubAppConfig,
  type GithubConfig,
  type GithubPlace,
  hasGithub,
  readGithub,
  readGithubApp,
  readGithubPlace,
} from "./config-github.ts";
import { readServer, type ServerConfig } from "./config-server.ts";
import { type Environment, readVariable, unusable } from "./config-values.ts";
import { CountersignError, leastSecretLength, type Redactor, Secret } from "./domain/index.ts";
import { type OtelSettings, readOtelSettings } from "./otel-settings.ts";

/** What the environment says, checked once. Rooms get plain values from it, never the whole. */
export type Config = {
  /** Absolute. */
  readonly home: string;
  /** Null: the embedded database. */
  readonly databaseUrl: Secret | null;
  /** Absolute; the shipped set `standard` unless set. */
  readonly policiesFolder: string;
  /** User id or range of user ids of sandboxes where the service is root, such as `64200-64299`. */
  readonly runUids: string | null;
  /** Absolute folders in which git, bwrap and the like are looked for, divided by `:`; null: the usual ones. */
  readonly searchPath: string | null;
  /** Null: the trace is sent nowhere. */
  readonly otel: OtelSettings | null;
  /** An error where no model is configured: most commands need none. */
  readonly model: ModelConfig | CountersignError;
  /** Whether a model server or a key is named at all. */
  readonly hasModel: boolean;
  /** Whether a model has a name and no server: it can't be asked. */
  readonly isModelWithoutServer: boolean;
  /** Each throws `CONFIG_INVALID`; what only the service needs is not looked at before. */
  readonly github: () => GithubConfig;
  /** For who takes no deliveries. */
  readonly githubApp: () => GithubAppConfig;
  /** Whether anything says which App this is. */
  readonly hasGithub: () => boolean;
  readonly githubPlace: () => GithubPlace;
  readonly server: () => ServerConfig;
  /** What npm and pip get of the environment when they are asked where packages come from; no credential is among it. */
  readonly packageManagers: Environment;
};

export type ModelConfig = { readonly baseUrl: string; readonly apiKey: Secret | null; readonly name: string };

/**
 * Reads the environment of this process. `root` is the folder of the checkout, `isRoot` whether this user is root.
 * Throws `CONFIG_INVALID`.
 */
export function loadConfig(place: {
  readonly root: string;
  readonly folder: string;
  readonly isRoot: boolean;
}): Config {
  return readConfig(process.env, place);
}

/** As `loadConfig`, from a given environment. An empty value counts as unset. */
export function readConfig(
  environment: Environment,
  place: { readonly root: string; readonly folder: string; readonly isRoot: boolean },
): Config {
  const value = (name: string): string | null => readVariable(environment, name);
  const path = (name: string, fallback: string): string => resolvePath(name, value(name) ?? fallback, place.folder);
  const home = path("COUNTERSIGN_HOME", place.isRoot ? "/var/lib/countersign" : join(place.folder, ".countersign"));
  const hasModel = value("OPENAI_BASE_URL") !== null || value("OPENAI_API_KEY") !== null;
  return {
    home,
    databaseUrl: readDatabaseUrl(value("DATABASE_URL")),
    policiesFolder: path("COUNTERSIGN_POLICIES", join(place.root, "policies", "standard")),
    runUids: readRunUids(value("COUNTERSIGN_RUN_UIDS")),
    searchPath: absoluteFolders(value("PATH")),
    otel: readOtelSettings(value),
    model: readModel(value("OPENAI_BASE_URL"), value("OPENAI_API_KEY"), value("OPENAI_MODEL")),
    hasModel,
    isModelWithoutServer: !hasModel && value("OPENAI_MODEL") !== null,
    github: () => readGithub(environment, place.folder, credentialFiles(home)),
    githubApp: () => readGithubApp(environment, place.folder, credentialFiles(home)),
    hasGithub: () => hasGithub(environment, credentialFiles(home)),
    githubPlace: () => readGithubPlace(environment),
    server: () => readServer(environment),
    packageManagers: readPackageManagers(value),
  };
}

/** Where they find their files, and the addresses that a variable may hold in place of a file. Never a token (SEC-103). */
const packageManagerVariables = [
  "HOME",
  "XDG_CONFIG_HOME",
  "XDG_CONFIG_DIRS",
  "NODE_EXTRA_CA_CERTS",
  ...["REGISTRY", "USERCONFIG", "GLOBALCONFIG", "CAFILE"].flatMap((name) => [
    `NPM_CONFIG_${name}`,
    `npm_config_${name.toLowerCase()}`,
  ]),
  "PIP_CONFIG_FILE",
  "PIP_INDEX_URL",
];

function readPackageManagers(value: (name: string) => string | null): Environment {
  return Object.fromEntries(
    packageManagerVariables.flatMap((name) => {
      const text = value(name);
      return text === null ? [] : [[name, text]];
    }),
  );
}

function resolvePath(name: string, text: string, folder: string): string {
  if (text.includes("\0") || text.includes("\n"))
    throw unusable(name, "a control character", "a folder", "/srv/countersign");
  return text.startsWith("/") ? text : join(folder, text);
}

/** A relative folder would be another one for each current folder, a repository's among them. */
function absoluteFolders(path: string | null): string | null {
  const folders = (path ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return folders.length === 0 ? null : folders.join(":");
}

function readDatabaseUrl(text: string | null): Secret | null {
  if (text === null) return null;
  const url = URL.parse(text);
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol)) {
    // The value may hold a password: only its form is told.
    const got = url === null ? "something that is no URL" : `a URL of the scheme \`${url.protocol}\``;
    throw unusable("DATABASE_URL", got, "a PostgreSQL URL", "postgres://user:password@localhost:5432/countersign");
  }
  return new Secret(text);
}

/** Linux: -1 as a 32 bit number means "no id". */
const largestUid = 2 ** 32 - 2;

function readRunUids(text: string | null): Config["runUids"] {
  if (text === null) return null;
  const form = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(text);
  const first = Number(form?.[1] ?? 0);
  const last = Number(form?.[2] ?? first);
  if (form === null || first < 1 || last < first || last > largestUid) {
    throw unusable("COUNTERSIGN_RUN_UIDS", `\`${text}\``, "a user id above 0 or a range of them", "64200-64299");
  }
  return text;
}

/** OpenAI's own API, as the `openai` package takes it when a key is set and no address. */
const defaultBaseUrl = "https://api.openai.com/v1";

function readBaseUrl(baseUrl: string | null): URL {
  const url = URL.parse(baseUrl ?? defaultBaseUrl);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw unusable("OPENAI_BASE_URL", `\`${baseUrl}\``, "an http or https address", "http://127.0.0.1:8080/v1");
  }
  if (url.username !== "" || url.password !== "") {
    throw unusable(
      "OPENAI_BASE_URL",
      "an address with a user name",
      "one without; the key goes to OPENAI_API_KEY",
      defaultBaseUrl,
    );
  }
  if (url.search !== "" || url.hash !== "") {
    const got = "an address with a query or a fragment";
    throw unusable(
      "OPENAI_BASE_URL",
      got,
      "one without: the path `/chat/completions` is put behind it",
      defaultBaseUrl,
    );
  }
  return url;
}

function readModel(baseUrl: string | null, apiKey: string | null, name: string | null): Config["model"] {
  const url = readBaseUrl(baseUrl);
  if (name !== null && /\p{Cc}/u.test(name)) {
    throw unusable("OPENAI_MODEL", "a value with control characters", "the name of a model", "gpt-5");
  }
  if (apiKey !== null && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw unusable("OPENAI_API_KEY", "a value with spaces or control characters", "the key alone", "sk-...");
  }
  if (name === null) return unusable("OPENAI_MODEL", "nothing", "the name of a model that the server has", "gpt-5");
  if (baseUrl === null && apiKey === null) {
    const expected = "the base address of a model server";
    return unusable("OPENAI_BASE_URL", "nothing, and no OPENAI_API_KEY", expected, "http://127.0.0.1:8080/v1");
  }
  return { baseUrl: url.href.replace(/\/$/, ""), apiKey: apiKey === null ? null : new Secret(apiKey), name };
}

/** The model's settings. Throws `CONFIG_INVALID` with the variable that is missing. */
export function requireModel({ model }: Config): ModelConfig {
  if (model instanceof CountersignError) throw model;
  return model;
}

/**
 * The same configuration, whose secrets the redactor learns (SEC-103): now those that are there, and GitHub's as soon as they
 * are read.
 */
export function withKnownSecrets(config: Config, { learn }: Pick<Redactor, "learn">): Config {
  const { databaseUrl, model, otel } = config;
  for (const secret of databaseUrl === null ? [] : secretsOfUrl(databaseUrl)) learn(secret);
  if (!(model instanceof CountersignError) && model.apiKey !== null) learn(model.apiKey);
  for (const [, value] of otel?.headers ?? []) {
    learn(value);
    learn(new Secret(value.reveal().replace(/^\w+ +/, ""))); // without `Bearer`
  }
  const learnToken = ({ pages, ...server }: ReturnType<Config["server"]>): ReturnType<Config["server"]> => {
    if (pages.token !== null) learn(pages.token);
    return { ...server, pages };
  };
  const learnKey = <App extends GithubAppConfig>(app: App): App => {
    learn(app.privateKey);
    return app;
  };
  return {
    ...config,
    server: () => learnToken(config.server()),
    githubApp: () => learnKey(config.githubApp()),
    github: () => {
      const github = learnKey(config.github());
      learn(github.webhookSecret);
      if (github.webhookSecretPrevious !== null) learn(github.webhookSecretPrevious);
      return github;
    },
  };
}

/**
 * The whole address, and its password where it stands in one. Alone only a long one is a secret: `postgres` is a word of
 * every second text.
 */
function secretsOfUrl(databaseUrl: Secret): readonly Secret[] {
  const { password = "" } = URL.parse(databaseUrl.reveal()) ?? {};
  const alone = password.length > leastSecretLength ? [password, safeDecoded(password)] : [];
  return [databaseUrl.reveal(), `:${password}@`, ...alone].map((value) => new Secret(value));
}

function safeDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
