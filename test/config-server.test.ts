import { describe, expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { isCountersignError, Secret } from "../src/domain/index.ts";

const place = { root: "/opt/countersign", folder: "/home/someone/project", isRoot: false };
const database = "postgres://user:hunter2@127.0.0.1/db";

function errorOf(environment: Record<string, string>): string {
  try {
    readConfig(environment, place).server();
  } catch (error) {
    if (isCountersignError(error, "CONFIG_INVALID")) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return "no error";
}

describe("the configuration of the service", () => {
  it("listens on loopback, does everything and links to no pages unless told otherwise", () => {
    expect(readConfig({}, place).server()).toEqual({
      host: "127.0.0.1",
      port: 3000,
      webhookPath: "/api/github/webhooks",
      publicUrl: null,
      role: "all",
      pages: { port: 3001, token: null },
      logLevel: "info",
    });
  });

  it("takes what is set", () => {
    const config = readConfig(
      {
        HOST: "0.0.0.0",
        PORT: "0",
        WEBHOOK_PATH: "/hooks",
        COUNTERSIGN_PUBLIC_URL: "https://countersign.example.org/pages/",
        COUNTERSIGN_ROLE: "worker",
        DATABASE_URL: database,
        LOG_LEVEL: "debug",
        COUNTERSIGN_WEB_PORT: "8090",
        COUNTERSIGN_WEB_TOKEN: "a-word",
      },
      place,
    );

    expect(config.server().pages.token?.reveal()).toBe("a-word");
    expect(config.server()).toEqual({
      host: "0.0.0.0",
      port: 0,
      webhookPath: "/hooks",
      publicUrl: "https://countersign.example.org/pages",
      role: "worker",
      pages: { port: 8090, token: expect.any(Secret) },
      logLevel: "debug",
    });
  });

  it("keeps no other command from working: it is looked at where it is needed", () => {
    expect(() => readConfig({ PORT: "high", LOG_LEVEL: "loud" }, place)).not.toThrow();
  });

  it.each([
    ["HOST", "a b", "`a b`"],
    ["HOST", "http://127.0.0.1", "`http://127.0.0.1`"],
    ["PORT", "65536", "`65536`"],
    ["PORT", "-1", "`-1`"],
    ["PORT", "http", "`http`"],
    ["WEBHOOK_PATH", "api", "`api`"],
    ["WEBHOOK_PATH", "/a?b", "`/a?b`"],
    ["COUNTERSIGN_PUBLIC_URL", "countersign.example.org", "`countersign.example.org`"],
    ["COUNTERSIGN_PUBLIC_URL", "https://someone@example.org", "an address with a user name"],
    ["COUNTERSIGN_PUBLIC_URL", "https://example.org/?a=1", "an address with a query or a fragment"],
    ["COUNTERSIGN_ROLE", "master", "`master`"],
    ["COUNTERSIGN_WEB_PORT", "web", "`web`"],
    ["COUNTERSIGN_WEB_TOKEN", "two words", "a value with spaces, control characters or too many of any"],
    ["LOG_LEVEL", "loud", "`loud`"],
    ["WEBHOOK_PROXY_URL", "https://proxy.example.org/secret", "a value"],
  ])("%s=%j stops it with variable, what was got, what is expected and an example", (variable, value, got) => {
    const line = errorOf({ [variable]: value });

    expect(line.startsWith(`${variable}: got ${got}, expected `)).toBe(true);
    expect(line).toContain(`; for example ${variable}=`);
    expect(line).not.toContain("\n");
  });

  it.each(["web", "worker"])("as `%s` alone needs a database that others can share", (role) => {
    const line = errorOf({ COUNTERSIGN_ROLE: role });

    expect(line).toMatch(/^DATABASE_URL: got nothing, and COUNTERSIGN_ROLE is `\w+`, expected the database that all/);
  });
});
