import { CountersignError, Secret } from "../domain/index.ts";
import * as shapes from "./answers.ts";
import { createExchange, type Exchange } from "./exchange.ts";
import type { AppFacts, InstallationFacts, RepositoryName, RepositoryPlace } from "./facts.ts";
import type { Github, GithubDeps, GithubSettings } from "./github.ts";
import { createPace } from "./pace.ts";
import { type Credential, type ReadDeps, readAnswer } from "./read.ts";
import { createRead, createReader } from "./reader.ts";
import { isRepositoryName } from "./repository-name.ts";
import { type Step, stepOf } from "./send.ts";
import { appCredential, createTokens, type Tokens } from "./tokens.ts";
import type { WriteContext } from "./write-row.ts";
import { createWriter } from "./writer.ts";

const readPermissions = {
  checks: "read",
  contents: "read",
  issues: "read",
  metadata: "read",
  pull_requests: "read",
} as const;

const defaults = { requestTimeoutMs: 30_000, writeIntervalMs: 1000, lookIntervalMs: 5000 };

type OwnApp = { readonly deps: ReadDeps; readonly own: Credential; readonly tokens: Tokens };

/** `GET /users/…` takes no App's word, only a token; where the App is installed nowhere, nobody's. */
async function anyCredential({ deps, own, tokens }: OwnApp, signal: AbortSignal): Promise<Credential> {
  const request = { method: "GET", route: "/app/installations", parameters: { per_page: 100 } } as const;
  const { data } = await readAnswer(deps, { request, credential: own }, shapes.Installations, signal);
  const usable = data.find((installation) => typeof installation.suspended_at !== "string");
  if (usable === undefined) return nobody;
  return tokens.credential({ installationId: usable.id, repositoryId: null }, { metadata: "read" });
}

const nobody: Credential = { authorization: () => Promise.resolve(null), renew: () => {} };

/** Our App and its bot user, asked for until it is known once. `reading`: a credential that there is anyway. */
function createOwnApp(ownApp: OwnApp) {
  const { deps, own } = ownApp;
  let known: AppFacts | null = null;
  return async (signal: AbortSignal, reading: Credential | null = null): Promise<AppFacts> => {
    if (known !== null) return known;
    const asked = { request: { method: "GET", route: "/app" }, credential: own } as const;
    const { data: app } = await readAnswer(deps, asked, shapes.App, signal);
    const parameters = { username: `${app.slug}[bot]` };
    const request = { method: "GET", route: "/users/{username}", parameters } as const;
    const credential = reading ?? (await anyCredential(ownApp, signal));
    const { data: bot } = await readAnswer(deps, { request, credential }, shapes.AppUser, signal);
    known = { ...app, botUserId: bot.id, botLogin: bot.login };
    return known;
  };
}

function createInstallation(deps: ReadDeps, credential: Credential): Github["installation"] {
  return async (installationId, signal) => {
    const parameters = { installation_id: installationId };
    const request = { method: "GET", route: "/app/installations/{installation_id}", parameters } as const;
    const { data } = await readAnswer(deps, { request, credential }, shapes.Installation, signal);
    return installationOf(data);
  };
}

const installationOf = (data: ReturnType<typeof shapes.Installation.parse>): InstallationFacts => ({
  id: data.id,
  account: data.account?.login ?? data.account?.slug ?? "",
  isSuspended: typeof data.suspended_at === "string",
  permissions: data.permissions,
});

/** By name this once; the token that asks for the number opens nothing. */
function createLocate({ deps, own, tokens }: OwnApp): Github["locate"] {
  return async (repository, signal) => {
    const { owner, name } = requireName(repository);
    const parameters = { owner, repo: name };
    const asked = { method: "GET", route: "/repos/{owner}/{repo}/installation", parameters } as const;
    const { data } = await readAnswer(deps, { request: asked, credential: own }, shapes.Installation, signal);
    const credential = tokens.credential({ installationId: data.id, repositoryId: null }, { metadata: "read" });
    const request = { method: "GET", route: "/repos/{owner}/{repo}", parameters } as const;
    const { data: found } = await readAnswer(deps, { request, credential }, shapes.Repository, signal);
    return { place: { installationId: data.id, repositoryId: found.id }, installation: installationOf(data) };
  };
}

/** Enterprise Server has REST under `/api/v3` and GraphQL under `/api/graphql`. */
const graphqlUrlOf = (apiUrl: string): string => `${apiUrl.replace(/\/v3$/, "")}/graphql`;

function requireName(repository: RepositoryName): RepositoryName {
  if (isRepositoryName(repository)) return repository;
  throw new CountersignError("GITHUB_INVALID", "a repository's name on GitHub is never of this form");
}

function createGitAccess(tokens: Tokens, gitUrl: string): Github["gitAccess"] {
  return async (place, repository, signal) => {
    const { owner, name } = requireName(repository);
    const held = await tokens.credential(place, { contents: "read" }).authorization(signal);
    const token = (held?.reveal() ?? "").replace(/^token /, "");
    const basic = Buffer.from(`x-access-token:${token}`).toString("base64");
    return { url: `${gitUrl}/${owner}/${name}.git`, authorization: new Secret(`Authorization: basic ${basic}`) };
  };
}

/** The same exchange, each answer of which is a step on record (AUD-10). */
const noting =
  (exchange: Exchange, steps: Step[]): Exchange =>
  async (request, authorization, signal) => {
    const exchanged = await exchange(request, authorization, signal);
    if (exchanged.kind === "answered") steps.push(stepOf(request, exchanged));
    return exchanged;
  };

/** Opened once a process: it holds the tokens and the pace of writes. Nothing is asked before the first call. */
export function openGithub(deps: GithubDeps, settings: GithubSettings): Github {
  const { requestTimeoutMs, writeIntervalMs, lookIntervalMs } = { ...defaults, ...settings };
  const exchange = createExchange(deps, { apiUrl: settings.apiUrl, timeoutMs: requestTimeoutMs });
  const readDeps: ReadDeps = { ...deps, exchange, origin: new URL(settings.apiUrl).origin };
  const own = appCredential(deps.clock, settings.appId, settings.privateKey);
  const tokens = createTokens(readDeps, own);
  const pace = createPace(deps, writeIntervalMs);
  const app = createOwnApp({ deps: readDeps, own, tokens });

  const contextOf = (place: RepositoryPlace, steps: Step[] = []): Omit<WriteContext, "send"> => {
    const reading = tokens.credential(place, readPermissions);
    const reads = createRead({ ...readDeps, exchange: noting(exchange, steps) }, place, reading);
    return {
      place,
      reader: createReader(reads, place),
      read: reads.read,
      app: (signal) => app(signal, reading),
      appId: settings.appId,
      graphqlUrl: graphqlUrlOf(settings.apiUrl),
      markerKey: settings.markerKey,
    };
  };

  return {
    host: new URL(settings.gitUrl).host,
    app: (signal) => app(signal),
    installation: createInstallation(readDeps, own),
    locate: createLocate({ deps: readDeps, own, tokens }),
    reader: (place) => contextOf(place).reader,
    writer: (place) => createWriter({ ...readDeps, pace, tokens, lookIntervalMs, contextOf }, place),
    gitAccess: createGitAccess(tokens, settings.gitUrl),
  };
}
