import { type Environment, readVariable, unusable } from "./config-values.ts";
import { Secret } from "./domain/index.ts";

const roles = ["all", "web", "worker"] as const;
const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export type Role = (typeof roles)[number];

/** How the service listens and what it does. */
export type ServerConfig = {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Of the deliveries; begins with a slash. */
  readonly webhookPath: string;
  /** Under which people reach the pages, without a slash at its end; null: no link is written to GitHub. */
  readonly publicUrl: string | null;
  readonly role: Role;
  /** The pages' own port on loopback (0: a free one) and their token; without one every page answers 404 (SEC-114). */
  readonly pages: { readonly port: number; readonly token: Secret | null };
  readonly logLevel: (typeof logLevels)[number];
};

/** Reads what `serve` needs besides GitHub's part. Throws `CONFIG_INVALID`. */
export function readServer(environment: Environment): ServerConfig {
  const value = (name: string): string | null => readVariable(environment, name);
  if (value("WEBHOOK_PROXY_URL") !== null) {
    throw unusable("WEBHOOK_PROXY_URL", "a value", "none: webhooks through a proxy are not supported yet", "");
  }
  return {
    host: readHost(value("HOST")),
    port: readPort("PORT", value("PORT"), 3000),
    webhookPath: readWebhookPath(value("WEBHOOK_PATH")),
    publicUrl: readPublicUrl(value("COUNTERSIGN_PUBLIC_URL")),
    role: readRole(value("COUNTERSIGN_ROLE"), value("DATABASE_URL")),
    pages: {
      port: readPort("COUNTERSIGN_WEB_PORT", value("COUNTERSIGN_WEB_PORT"), 3001),
      token: readWebToken(value("COUNTERSIGN_WEB_TOKEN")),
    },
    logLevel: readLogLevel(value("LOG_LEVEL")),
  };
}

/** Loopback: what reaches the service from outside is a proxy that speaks TLS, unless the operator says otherwise. */
const defaultHost = "127.0.0.1";

function readHost(text: string | null): string {
  if (text === null) return defaultHost;
  if (!/^[A-Za-z0-9._:-]{1,253}$/.test(text)) {
    throw unusable("HOST", `\`${text}\``, "the address or name to listen at", "0.0.0.0");
  }
  return text;
}

function readPort(variable: string, text: string | null, fallback: number): number {
  if (text === null) return fallback;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw unusable(variable, `\`${text}\``, "a port from 0 (a free one) to 65535", `${fallback}`);
  return port;
}

/** It travels in a header, as the password of HTTP Basic or as Bearer. */
function readWebToken(text: string | null): Secret | null {
  if (text === null) return null;
  if (!/^[\x21-\x7e]{1,1024}$/.test(text)) {
    const got = "a value with spaces, control characters or too many of any";
    throw unusable("COUNTERSIGN_WEB_TOKEN", got, "a random text such as 64 hex digits", "0f2a...");
  }
  return new Secret(text);
}

function readWebhookPath(text: string | null): string {
  if (text === null) return "/api/github/webhooks";
  if (!/^\/[A-Za-z0-9._~/-]{0,199}$/.test(text)) {
    throw unusable("WEBHOOK_PATH", `\`${text}\``, "a path that begins with a slash", "/api/github/webhooks");
  }
  return text;
}

function readPublicUrl(text: string | null): string | null {
  if (text === null) return null;
  const variable = "COUNTERSIGN_PUBLIC_URL";
  const example = "https://countersign.example.org";
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw unusable(variable, `\`${text}\``, "an http or https address", example);
  }
  if (url.username !== "" || url.password !== "") {
    throw unusable(variable, "an address with a user name", "one without: it is written to GitHub", example);
  }
  if (url.search !== "" || url.hash !== "") {
    throw unusable(variable, "an address with a query or a fragment", "one without: paths are put behind it", example);
  }
  return url.href.replace(/\/+$/, "");
}

function readRole(text: string | null, databaseUrl: string | null): Role {
  const role = roles.find((known) => known === (text ?? "all"));
  if (role === undefined) throw unusable("COUNTERSIGN_ROLE", `\`${text}\``, `one of ${roles.join(", ")}`, "all");
  if (role === "all" || databaseUrl !== null) return role;
  const got = `nothing, and COUNTERSIGN_ROLE is \`${role}\``;
  const expected = "the database that all processes share: the embedded one serves one process";
  throw unusable("DATABASE_URL", got, expected, "postgres://user:password@localhost:5432/countersign");
}

function readLogLevel(text: string | null): ServerConfig["logLevel"] {
  const level = logLevels.find((known) => known === (text ?? "info"));
  if (level === undefined) throw unusable("LOG_LEVEL", `\`${text}\``, `one of ${logLevels.join(", ")}`, "info");
  return level;
}
