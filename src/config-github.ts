import { createPrivateKey } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Environment, readVariable, unusable } from "./config-values.ts";
import { CountersignError, Secret } from "./domain/index.ts";

/** Where GitHub is. Addresses have no slash at their end. */
export type GithubPlace = {
  /** Of the REST API. */
  readonly apiUrl: string;
  /** `<gitUrl>/<owner>/<repository>.git` is a repository; people find its pages at the same address. */
  readonly gitUrl: string;
};

/** As which App GitHub is asked. */
export type GithubAppConfig = GithubPlace & {
  readonly appId: number;
  /** PEM of an RSA key. */
  readonly privateKey: Secret;
};

/** As which App the service works, and how its deliveries are known. */
export type GithubConfig = GithubAppConfig & {
  readonly webhookSecret: Secret;
  /** Accepted too, during a rotation. */
  readonly webhookSecretPrevious: Secret | null;
};

/** What `serve --register` keeps, below the service folder. Each file holds one value. */
export type CredentialFiles = {
  readonly folder: string;
  readonly appId: string;
  readonly privateKey: string;
  readonly webhookSecret: string;
};

export function credentialFiles(home: string): CredentialFiles {
  const folder = join(home, "keys", "github-app");
  return {
    folder,
    appId: join(folder, "app-id"),
    privateKey: join(folder, "private-key.pem"),
    webhookSecret: join(folder, "webhook-secret"),
  };
}

/** Reads the address of GitHub. Throws `CONFIG_INVALID`. */
export function readGithubPlace(environment: Environment): GithubPlace {
  const host = readVariable(environment, "GHE_HOST");
  const protocol = readVariable(environment, "GHE_PROTOCOL") ?? "https";
  if (protocol !== "https" && protocol !== "http") {
    throw unusable("GHE_PROTOCOL", `\`${protocol}\``, "https, or http for this machine alone", "https");
  }
  if (host === null) return { apiUrl: "https://api.github.com", gitUrl: "https://github.com" };
  const url = URL.parse(`${protocol}://${host}`);
  if (url === null || !/^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:]+\](:\d{1,5})?$/.test(host)) {
    throw unusable("GHE_HOST", `\`${host}\``, "a host name alone, with a port if need be", "github.example.org");
  }
  if (protocol === "http" && !isLoopback(url.hostname)) {
    const got = `\`http\` for \`${host}\``;
    throw unusable("GHE_PROTOCOL", got, "https: tokens would cross the network in clear", "https");
  }
  return { apiUrl: `${url.origin}/api/v3`, gitUrl: url.origin };
}

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);

/** As `readGithub`, without what only deliveries need. */
export const readGithubApp = (environment: Environment, folder: string, files: CredentialFiles): GithubAppConfig =>
  appConfig(environment, folder, storedUnlessSet(environment, files));

const storedUnlessSet = (environment: Environment, files: CredentialFiles): Stored | null =>
  isInEnvironment(environment) ? null : readStored(files);

function appConfig(environment: Environment, folder: string, stored: Stored | null): GithubAppConfig {
  const value = (name: string): string | null => readVariable(environment, name);
  return {
    ...readGithubPlace(environment),
    appId: readAppId(stored?.appId ?? value("APP_ID")),
    privateKey: stored?.privateKey ?? readPrivateKey(value("PRIVATE_KEY"), value("PRIVATE_KEY_PATH"), folder),
  };
}

/**
 * Reads the App's credentials: from the environment where any of `APP_ID`, `PRIVATE_KEY` and `PRIVATE_KEY_PATH` is set, else
 * those that `serve --register` stored. Throws `CONFIG_INVALID`.
 */
export function readGithub(environment: Environment, folder: string, files: CredentialFiles): GithubConfig {
  const value = (name: string): string | null => readVariable(environment, name);
  const stored = storedUnlessSet(environment, files);
  const previous = value("WEBHOOK_SECRET_PREVIOUS");
  return {
    ...appConfig(environment, folder, stored),
    webhookSecret: readSecret("WEBHOOK_SECRET", value("WEBHOOK_SECRET") ?? stored?.webhookSecret ?? null),
    webhookSecretPrevious: previous === null ? null : readSecret("WEBHOOK_SECRET_PREVIOUS", previous),
  };
}

const isInEnvironment = (environment: Environment): boolean =>
  ["APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH"].some((name) => readVariable(environment, name) !== null);

/** Whether anything says which App this is, be it right or wrong. */
export const hasGithub = (environment: Environment, files: CredentialFiles): boolean =>
  isInEnvironment(environment) || existsSync(files.folder);

type Stored = { readonly appId: string; readonly privateKey: Secret; readonly webhookSecret: string | null };

function readStored(files: CredentialFiles): Stored | null {
  const appId = readCredential(files.appId);
  const privateKey = readCredential(files.privateKey);
  if (appId === null || privateKey === null) return null;
  const isKey = isRsaKey(privateKey);
  if (!isKey || !appIdForm.test(appId.trim())) {
    const path = isKey ? files.appId : files.privateKey;
    throw new CountersignError("CONFIG_INVALID", `the credential file \`${path}\` is damaged`, {
      remedy: "restore it from your backup, or set APP_ID and PRIVATE_KEY_PATH",
    });
  }
  return {
    appId: appId.trim(),
    privateKey: new Secret(privateKey),
    webhookSecret: readCredential(files.webhookSecret)?.trim() ?? null,
  };
}

/** Null where there is none. One that others can read is as good as published. */
function readCredential(path: string): string | null {
  try {
    if ((statSync(path).mode & 0o077) === 0) return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw unreadable(path, error);
  }
  throw new CountersignError("CONFIG_INVALID", `the credential file \`${path}\` can be read by others`, {
    remedy: `type \`chmod 600 ${path}\`, and ask who may have read it`,
  });
}

const unreadable = (path: string, cause: unknown): CountersignError =>
  new CountersignError("CONFIG_INVALID", `the credential file \`${path}\` can't be read`, {
    cause,
    remedy: "start Countersign as the user that registered the App",
  });

const appIdForm = /^[1-9]\d{0,14}$/;

function readAppId(text: string | null): number {
  const expected = "the number on the App's settings page, or an App registered by `serve --register`";
  if (text === null) throw unusable("APP_ID", "nothing", expected, "123456");
  if (!appIdForm.test(text)) throw unusable("APP_ID", `\`${text.slice(0, 40)}\``, expected, "123456");
  return Number(text);
}

/** As Probot takes it: PEM with line feeds, with `\n` written for each, or the whole in base64. */
function readPrivateKey(text: string | null, path: string | null, folder: string): Secret {
  if (text === null && path === null) {
    const expected = "the private key of the App: its PEM, or its file in PRIVATE_KEY_PATH";
    throw unusable("PRIVATE_KEY", "nothing", expected, '"$(cat countersign.private-key.pem)"');
  }
  if (text === null) return readPrivateKeyFile(path ?? "", folder);
  const pem = text.includes("-----BEGIN") ? text.replaceAll("\\n", "\n") : Buffer.from(text, "base64").toString("utf8");
  if (isRsaKey(pem)) return new Secret(pem);
  const expected = "an RSA private key in PEM, or that in base64";
  throw unusable("PRIVATE_KEY", "a value that is no PEM key", expected, '"$(cat countersign.private-key.pem)"');
}

function readPrivateKeyFile(path: string, folder: string): Secret {
  const expected = "a file with the App's RSA private key in PEM";
  const example = "/etc/countersign/private-key.pem";
  let pem: string;
  try {
    pem = readFileSync(path.startsWith("/") ? path : join(folder, path), "utf8");
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? "unreadable";
    throw unusable("PRIVATE_KEY_PATH", `\`${path}\`, which can't be read (${why})`, expected, example);
  }
  if (!isRsaKey(pem)) throw unusable("PRIVATE_KEY_PATH", `\`${path}\`, which holds none`, expected, example);
  return new Secret(pem);
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

/** SEC-110. */
const smallestSecretBytes = 32;

function readSecret(variable: string, text: string | null): Secret {
  const expected = `a random secret of at least ${smallestSecretBytes} bytes, the same as in the App's settings`;
  const example = "<64 digits, as `openssl rand -hex 32` prints them>";
  if (text === null) throw unusable(variable, "nothing", expected, example);
  if (/\p{Cc}/u.test(text)) throw unusable(variable, "a value with control characters", expected, example);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes < smallestSecretBytes) throw unusable(variable, `${sizeBytes} bytes`, expected, example);
  return new Secret(text);
}
