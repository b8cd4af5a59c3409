import { describe, expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { isCountersignError } from "../src/domain/index.ts";
import { readOtelSettings } from "../src/otel-settings.ts";

const read = (environment: Readonly<Record<string, string>>) => readOtelSettings((name) => environment[name] || null);
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

function errorOf(environment: Readonly<Record<string, string>>): string {
  try {
    read({ ...endpoint, ...environment });
  } catch (error) {
    if (isCountersignError(error, "CONFIG_INVALID")) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return "no error";
}

describe("the settings of the trace", () => {
  it("are none without an endpoint: spans then stay in the database", () => {
    expect(read({ OTEL_SERVICE_NAME: "mine" })).toBeNull();
  });

  it("are protobuf to /v1/traces below the endpoint unless said otherwise", () => {
    expect(read(endpoint)).toEqual({
      url: "http://127.0.0.1:4318/v1/traces",
      protocol: "http/protobuf",
      headers: [],
      timeoutMs: 10_000,
      resource: { "service.name": "countersign" },
    });
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://host/otlp/" })?.url).toBe("https://host/otlp/v1/traces");
  });

  it("take the address for traces alone as it is, and before the general one", () => {
    const url = "http://127.0.0.1:4318/somewhere";

    expect(read({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url })?.url).toBe(url);
  });

  it("have headers and resource attributes, percent-decoded, and a service name that goes before them", () => {
    const settings = read({
      ...endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20s3cret, x-team = a",
      OTEL_EXPORTER_OTLP_TIMEOUT: "2500",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=prod,team=a%2Cb,service.name=other",
      OTEL_SERVICE_NAME: "mine",
    });

    expect(settings?.headers.map(([name, value]) => [name, value.reveal()])).toEqual([
      ["authorization", "Bearer s3cret"],
      ["x-team", "a"],
    ]);
    expect(settings).toMatchObject({
      protocol: "http/json",
      timeoutMs: 2500,
      resource: { "service.name": "mine", "deployment.environment.name": "prod", team: "a,b" },
    });
    expect(JSON.stringify(settings)).not.toContain("s3cret");
  });

  it("are part of the configuration", () => {
    const place = { root: "/opt/countersign", folder: "/home/someone", isRoot: false };

    expect(readConfig(endpoint, place).otel?.url).toBe("http://127.0.0.1:4318/v1/traces");
    expect(readConfig({}, place).otel).toBeNull();
  });
});

describe("a value that can't be served stops the start with variable, what was got, what is expected and an example", () => {
  it.each([
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "`grpc`"],
    ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "HTTP/JSON", "`HTTP/JSON`"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "localhost", "something that is no URL"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "a URL of the scheme `localhost:`"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@127.0.0.1", "an address with a user name"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://127.0.0.1", "a URL of the scheme `grpc:`"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "hunter2", "a part 1 that is no header"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=b,c d=hunter2", "a part 2 that is no header"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%0A", "a part 1 that is no header"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "`10s`"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "0", "`0`"],
    ["OTEL_RESOURCE_ATTRIBUTES", "team", "a part 1 that is no attribute"],
    ["OTEL_RESOURCE_ATTRIBUTES", "team=%zz", "a part 1 that is no attribute"],
    ["OTEL_SERVICE_NAME", "a\nb", "a value with control characters"],
  ])("%s=%j", (variable, value, got) => {
    const line = errorOf({ [variable]: value });

    expect(line.startsWith(`${variable}: got ${got}, expected `), line).toBe(true);
    expect(line).toContain(`; for example ${variable}=`);
    expect(line).not.toMatch(/\n|hunter2/);
  });

  it("also where no endpoint is set yet", () => {
    expect(() => read({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toThrow(/^OTEL_EXPORTER_OTLP_PROTOCOL: got `grpc`/);
  });
});
