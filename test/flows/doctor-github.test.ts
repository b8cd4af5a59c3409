import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { readAppManifest } from "../../src/app/index.ts";
import { type LocalGithub, startLocalGithub } from "../../src/demo/index.ts";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { readJson } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let countersign: Countersign;
let github: LocalGithub;
let poor: LocalGithub;

const Report = z.object({
  ok: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string(), remedy: z.string() })),
});

beforeAll(async () => {
  countersign = await openCountersign("shared");
  const manifest = await readAppManifest(join(import.meta.dirname, "../../app.yml"));
  const start = (name: string, permissions: Readonly<Record<string, string>>): Promise<LocalGithub> =>
    startLocalGithub({
      clock: Date.now,
      randomBytes,
      folder: join(countersign.folder, name),
      webhook: { url: "https://countersign.example.org/api/github/webhooks", secret: "s".repeat(32) },
      app: { slug: "countersign", permissions, events: manifest.default_events },
    });
  github = await start("whole", manifest.default_permissions);
  // GitHub gives every App `metadata: read`.
  poor = await start("poor", { metadata: "read", contents: "write", actions: "read" });
});

afterAll(async () => {
  await github[Symbol.asyncDispose]();
  await poor[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

const settingsFor = (local: LocalGithub): Record<string, string> => ({
  APP_ID: String(local.app.id),
  PRIVATE_KEY: local.app.privateKey,
  WEBHOOK_SECRET: "s".repeat(32),
  GHE_HOST: `127.0.0.1:${local.port}`,
  GHE_PROTOCOL: "http",
});

async function doctor(environment: Record<string, string>) {
  const ended = await countersign.command(["doctor", "--github", "--json"], environment);
  return { ...ended, ...readJson(Report, ended) };
}

describe("doctor --github", () => {
  it("asks GitHub who the App is, what it may do and how it is told of events", async () => {
    const { exitCode, ok, checks } = await doctor(settingsFor(github));

    expect(checks.map(({ name, detail }) => `${name}: ${detail}`)).toEqual([
      `github app: App ${github.app.id}, \`countersign\`, writes as \`countersign[bot]\``,
      "github permissions: all that are needed",
      expect.stringMatching(/^github events: check_run, check_suite, issue_comment, issues, /),
      "github webhook: https://countersign.example.org/api/github/webhooks",
    ]);
    expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
  });

  it("names permissions that are missing and those that nobody needs", async () => {
    const { exitCode, checks } = await doctor(settingsFor(poor));

    expect(exitCode).toBe(1);
    expect(checks.find(({ name }) => name === "github permissions")).toMatchObject({
      ok: false,
      detail:
        "missing checks: write (granted: none), issues: write (granted: none), pull_requests: write (granted: none); more than is needed: actions: read",
    });
  });

  it("says so where the key belongs to another App, and never shows it", async () => {
    const ended = await doctor({ ...settingsFor(github), PRIVATE_KEY: poor.app.privateKey });

    expect(ended.checks).toMatchObject([{ name: "github app", ok: false }]);
    expect(ended.checks[0]?.detail).toContain("[GITHUB_UNAUTHORIZED]");
    expect(ended.stdout + ended.stderr).not.toContain("PRIVATE KEY-----");
  });

  it("names the variable that is missing where nothing is configured", async () => {
    const { checks } = await doctor({});

    expect(checks[0]?.detail).toMatch(/^APP_ID: got nothing, expected .* \[CONFIG_INVALID\]$/);
  });

  it("takes no fault in a missing App where it was not asked about it", async () => {
    const { checks } = readJson(Report, await countersign.command(["doctor", "--json"]));

    expect(checks.find(({ name }) => name === "github")).toEqual({
      name: "github",
      ok: true,
      detail: "not configured: only `serve` needs it",
      remedy: "",
    });
  });
});
