import { CountersignError, Secret } from "./domain/index.ts";

/** Where the trace goes, as OpenTelemetry's variables say it; null where no endpoint is set: spans then stay in the database. */
export type OtelSettings = {
  /** The whole address, `/v1/traces` included. */
  readonly url: string;
  readonly protocol: "http/protobuf" | "http/json";
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  readonly timeoutMs: number;
  /** `service.name` and `OTEL_RESOURCE_ATTRIBUTES`. */
  readonly resource: Readonly<Record<string, string>>;
};

type Value = (name: string) => string | null;

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

/** One line for a value that can't be used: variable, what was got, what is expected, an example. */
function unusable(variable: string, got: string, expected: string, example: string): CountersignError {
  return new CountersignError("CONFIG_INVALID", `${variable}: got ${got}, expected ${expected}`, {
    remedy: `for example ${variable}=${example}`,
    details: { variable },
  });
}

/**
 * Reads `OTEL_*`. The variables of traces alone go before the general ones (OpenTelemetry, "OTLP Exporter Configuration").
 * A value that can't be served stops the start with `CONFIG_INVALID`, also where no endpoint is set: it would be missed later.
 */
export function readOtelSettings(value: Value): OtelSettings | null {
  const protocol = readProtocol(value);
  const headers = readHeaders(value);
  const timeoutMs = readTimeout(value);
  const resource = readResource(value);
  const url = readUrl(value);
  return url === null ? null : { url, protocol, headers, timeoutMs, resource };
}

/** The first of the names that is set, with its value. */
function firstOf(value: Value, ...names: readonly string[]): { readonly name: string; readonly text: string } | null {
  for (const name of names) {
    const text = value(name);
    if (text !== null) return { name, text };
  }
  return null;
}

function readUrl(value: Value): string | null {
  const tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const traces = value(tracesEndpoint);
  if (traces !== null) return checkUrl(tracesEndpoint, traces, "http://127.0.0.1:4318/v1/traces").href;
  const base = value(endpoint);
  if (base === null) return null;
  const url = checkUrl(endpoint, base, "http://127.0.0.1:4318");
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
  return url.href;
}

/** The value may hold a key: where it is no address only its form is told. */
function checkUrl(name: string, text: string, example: string): URL {
  const url = URL.parse(text);
  if (url === null) throw unusable(name, "something that is no URL", "an http or https address", example);
  if (!["http:", "https:"].includes(url.protocol)) {
    throw unusable(name, `a URL of the scheme \`${url.protocol}\``, "an http or https address", example);
  }
  if (url.username !== "" || url.password !== "") {
    const expected = "one without; keys go to OTEL_EXPORTER_OTLP_HEADERS";
    throw unusable(name, "an address with a user name", expected, example);
  }
  return url;
}

function readProtocol(value: Value): OtelSettings["protocol"] {
  const set = firstOf(value, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
  const { name, text } = set ?? { name: "", text: "http/protobuf" };
  if (text === "http/protobuf" || text === "http/json") return text;
  throw unusable(name, shown(text), "`http/protobuf` or `http/json`", "http/protobuf");
}

/** A value of ours to choose from, not longer than a line. */
const shown = (text: string): string => (/^[\x20-\x7e]{1,60}$/.test(text) ? `\`${text}\`` : "something else");

function readHeaders(value: Value): OtelSettings["headers"] {
  const set = firstOf(value, "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
  if (set === null) return [];
  return pairs(set.text).map((pair, at) => {
    const isUsable = pair !== null && /^[\w!#$%&'*+.^`|~-]+$/.test(pair[0]) && /^[\x20-\x7e]*$/.test(pair[1]);
    if (isUsable) return [pair[0].toLowerCase(), new Secret(pair[1])] as const;
    throw unusable(
      set.name,
      `a part ${at + 1} that is no header`,
      "`name=value` pairs with commas between",
      "key=value",
    );
  });
}

function readResource(value: Value): OtelSettings["resource"] {
  const name = "OTEL_RESOURCE_ATTRIBUTES";
  const given = pairs(value(name) ?? "").map((pair, at) => {
    if (pair !== null && pair[0] !== "" && !/\p{Cc}/u.test(pair.join(""))) return pair;
    const expected = "`key=value` pairs with commas between";
    throw unusable(name, `a part ${at + 1} that is no attribute`, expected, "deployment.environment.name=production");
  });
  const serviceName = value("OTEL_SERVICE_NAME");
  if (serviceName !== null && /\p{Cc}/u.test(serviceName)) {
    throw unusable("OTEL_SERVICE_NAME", "a value with control characters", "a name", "countersign");
  }
  const attributes = { "service.name": "countersign", ...Object.fromEntries(given) };
  return serviceName === null ? attributes : { ...attributes, "service.name": serviceName };
}

/** `a=b,c=d`, values percent-encoded (W3C Baggage); null for a part of another form. */
function pairs(text: string): readonly (readonly [string, string] | null)[] {
  const parts = text.split(",").filter((part) => part.trim() !== "");
  return parts.map((part) => {
    const at = part.indexOf("=");
    if (at < 1) return null;
    try {
      return [decodeURIComponent(part.slice(0, at).trim()), decodeURIComponent(part.slice(at + 1).trim())];
    } catch {
      return null;
    }
  });
}

const defaultTimeoutMs = 10_000;

function readTimeout(value: Value): number {
  const set = firstOf(value, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
  if (set === null) return defaultTimeoutMs;
  if (/^[1-9]\d{0,6}$/.test(set.text)) return Number(set.text);
  throw unusable(set.name, shown(set.text), "milliseconds, at least 1", "10000");
}
