import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { readConfig, requireModel, withKnownSecrets } from "../src/config.ts";
import { createRedactor, isCountersignError } from "../src/domain/index.ts";

const place = { root: "/opt/countersign", folder: "/home/someone/project", isRoot: false };
const model = { OPENAI_BASE_URL: "http://127.0.0.1:8080/v1", OPENAI_MODEL: "some-model" };

/** The error that a variable leads to, as one line. */
function errorOf(environment: Record<string, string>): string {
  try {
    requireModel(readConfig({ ...model, ...environment }, place));
  } catch (error) {
    if (isCountersignError(error, "CONFIG_INVALID")) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return "no error";
}

describe("a configuration", () => {
  it("needs nothing but a model: the rest has defaults", () => {
    const config = readConfig(model, place);

    expect(config).toMatchObject({
      home: "/home/someone/project/.countersign",
      databaseUrl: null,
      policiesFolder: "/opt/countersign/policies/standard",
      runUids: null,
      searchPath: null,
    });
    expect(requireModel(config)).toEqual({ baseUrl: "http://127.0.0.1:8080/v1", apiKey: null, name: "some-model" });
  });

  it("of root lies under /var/lib", () => {
    expect(readConfig(model, { ...place, isRoot: true }).home).toBe("/var/lib/countersign");
  });

  it("takes relative folders from the current one, and an empty value as none", () => {
    const config = readConfig({ ...model, COUNTERSIGN_HOME: "here/home", DATABASE_URL: "" }, place);

    expect(config).toMatchObject({ home: "/home/someone/project/here/home", databaseUrl: null });
  });

  it("looks for programs in the absolute folders of PATH alone", () => {
    expect(readConfig({ PATH: "bin:/opt/bin::./x:/usr/bin" }, place).searchPath).toBe("/opt/bin:/usr/bin");
    expect(readConfig({ PATH: ".:bin" }, place).searchPath).toBeNull();
  });

  it("lets package managers be asked with the places of their files, and with no token (SEC-69, SEC-103)", () => {
    const token = ["npm", "config", "//packages.example/:_authToken"].join("_");
    const environment = {
      HOME: "/home/someone",
      npm_config_registry: "https://packages.example/",
      PIP_INDEX_URL: "",
      [token]: "x",
      NPM_TOKEN: "x",
      NPM_CONFIG_USERCONFIG: "/etc/npm/ours",
    };

    expect(readConfig({ ...model, ...environment }, place).packageManagers).toEqual({
      HOME: "/home/someone",
      npm_config_registry: "https://packages.example/",
      NPM_CONFIG_USERCONFIG: "/etc/npm/ours",
    });
  });

  it("asks for a model only where one is needed, and then names the variable", () => {
    const config = readConfig({}, place);

    expect(() => requireModel(config)).toThrow(/^OPENAI_MODEL: got nothing, expected the name of a model/);
  });

  it("takes OpenAI's own address where a key is set and no address", () => {
    const config = readConfig({ OPENAI_MODEL: "some-model", OPENAI_API_KEY: "sk-1" }, place);

    expect(requireModel(config)).toMatchObject({ baseUrl: "https://api.openai.com/v1" });
    expect(requireModel(config).apiKey?.reveal()).toBe("sk-1");
  });

  it("holds secrets that don't show when it is printed", () => {
    const secrets = { OPENAI_API_KEY: "sk-secret", DATABASE_URL: "postgres://user:secret@127.0.0.1/db" };

    const config = readConfig({ ...model, ...secrets }, place);

    expect(JSON.stringify(config)).not.toContain("secret");
    expect(String(config.databaseUrl)).not.toContain("secret");
    expect(config.databaseUrl?.reveal()).toBe(secrets.DATABASE_URL);
  });
});

describe("a value that can't be used stops the start with variable, what was got, what is expected and an example", () => {
  it.each([
    ["COUNTERSIGN_HOME", "a\nb", "a control character"],
    ["COUNTERSIGN_HOME", "a\x00b", "a control character"],
    ["COUNTERSIGN_POLICIES", "a\nb", "a control character"],
    ["COUNTERSIGN_RUN_UIDS", "0", "`0`"],
    ["COUNTERSIGN_RUN_UIDS", "0-10", "`0-10`"],
    ["COUNTERSIGN_RUN_UIDS", "20-10", "`20-10`"],
    ["COUNTERSIGN_RUN_UIDS", "-5", "`-5`"],
    ["COUNTERSIGN_RUN_UIDS", "64200-", "`64200-`"],
    ["COUNTERSIGN_RUN_UIDS", "64200 64299", "`64200 64299`"],
    ["COUNTERSIGN_RUN_UIDS", "4294967295", "`4294967295`"],
    ["COUNTERSIGN_RUN_UIDS", "99999999999", "`99999999999`"],
    ["COUNTERSIGN_RUN_UIDS", "nobody", "`nobody`"],
    ["DATABASE_URL", "localhost", "something that is no URL"],
    ["DATABASE_URL", "mysql://localhost/db", "a URL of the scheme `mysql:`"],
    ["DATABASE_URL", "postgres//user:pw@localhost", "something that is no URL"],
    ["OPENAI_BASE_URL", "127.0.0.1:8080", "`127.0.0.1:8080`"],
    ["OPENAI_BASE_URL", "localhost:8080/v1", "`localhost:8080/v1`"],
    ["OPENAI_BASE_URL", "file:///v1", "`file:///v1`"],
    ["OPENAI_BASE_URL", "http://127.0.0.1/v1?key=1", "an address with a query or a fragment"],
    ["OPENAI_BASE_URL", "http://127.0.0.1/v1#top", "an address with a query or a fragment"],
    ["OPENAI_BASE_URL", "http://user@127.0.0.1/v1", "an address with a user name"],
    ["OPENAI_API_KEY", "sk 1", "a value with spaces or control characters"],
    ["OPENAI_API_KEY", "sk-1\n", "a value with spaces or control characters"],
    ["OPENAI_MODEL", "a\nb", "a value with control characters"],
  ])("%s=%j", (variable, value, got) => {
    const line = errorOf({ [variable]: value });

    expect(line.startsWith(`${variable}: got ${got}, expected `)).toBe(true);
    expect(line).toContain(`; for example ${variable}=`);
    expect(line).not.toContain("\n");
  });

  it.each([
    ["DATABASE_URL", "mysql://user:hunter2@localhost/db"],
    ["DATABASE_URL", "postgres//user:hunter2@localhost"],
    ["OPENAI_BASE_URL", "http://user:hunter2@127.0.0.1/v1"],
    ["OPENAI_BASE_URL", "http://127.0.0.1/v1?key=hunter2"],
    ["OPENAI_API_KEY", "hunter2 "],
  ])("%s never shows what may be a secret (%j)", (variable, value) => {
    const line = errorOf({ [variable]: value });

    expect(line).toContain(variable);
    expect(line).not.toContain("hunter2");
  });
});

describe("the secrets of a configuration (SEC-103)", () => {
  const password = "pass-word-of-the-database";
  const key = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  }).privateKey;
  const environment = {
    ...model,
    OPENAI_API_KEY: "key-of-the-model-server",
    DATABASE_URL: `postgres://ann:${password}@127.0.0.1:5432/x`,
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20header-of-the-receiver",
    APP_ID: "7",
    PRIVATE_KEY: key,
    WEBHOOK_SECRET: "webhook-secret-of-the-app-in-32-bytes",
    WEBHOOK_SECRET_PREVIOUS: "the-webhook-secret-that-was-before-it",
  };

  it("are all known to the redactor, GitHub's as soon as they are read", () => {
    const redactor = createRedactor([]);
    const config = withKnownSecrets(readConfig(environment, place), redactor);

    for (const secret of [environment.OPENAI_API_KEY, environment.DATABASE_URL, password, "header-of-the-receiver"])
      expect(redactor.redactExact(secret)).toBe("[redacted]");
    config.github();
    for (const secret of [environment.WEBHOOK_SECRET, environment.WEBHOOK_SECRET_PREVIOUS, key.trim()])
      expect(redactor.redactExact(secret)).toBe("[redacted]");
  });

  it("take no common word out of a text where a password is one", () => {
    const redactor = createRedactor([]);
    withKnownSecrets(readConfig({ ...model, DATABASE_URL: "postgres://ann:postgres@127.0.0.1/x" }, place), redactor);

    expect(redactor.redactExact("postgres, and ann:postgres@db")).toBe("postgres, and ann:postgres@db");
    expect(redactor.redactExact("postgres://ann:postgres@127.0.0.1/x")).toBe("[redacted]");
  });

  it("print as nothing but a mark", () => {
    const config = readConfig(environment, place);
    const shown = `${JSON.stringify(config)}${inspect(config, { depth: 9 })}${config.databaseUrl}`;

    expect(shown).toContain("[redacted]");
    for (const secret of [password, environment.OPENAI_API_KEY, "header-of-the-receiver"])
      expect(shown).not.toContain(secret);
  });
});
