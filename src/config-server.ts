import { type Environment, readVariable, unusable } from "./config-values.ts";

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
    port: readPort(value("PORT")),
    webhookPath: readWebhookPath(value("WEBHOOK_PATH")),
    publicUrl: readPublicUrl(value("COUNTERSIGN_PUBLIC_URL")),
    role: readRole(value("COUNTERSIGN_ROLE"), value("DATABASE_URL")),
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

function readPort(text: string | null): number {
  if (text === null) return 3000;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw unusable("PORT", `\`${text}\``, "a port from 0 (a free one) to 65535", "3000");
  return port;
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
