import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readAppManifest } from "../../src/app/index.ts";
import { type LocalGithub, startLocalGithub } from "../../src/demo/index.ts";
import { type Countersign, mountsOf, openCountersign, processesOf } from "../support/countersign.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const secret = "s".repeat(32);
let countersign: Countersign;
let github: LocalGithub;
let environment: Record<string, string>;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  const { default_permissions: permissions, default_events: events } = await readAppManifest(
    join(import.meta.dirname, "../../app.yml"),
  );
  const app = { slug: "countersign", permissions, events };
  github = await startLocalGithub({ clock: Date.now, randomBytes, folder: join(countersign.folder, "github"), app });
  environment = {
    APP_ID: String(github.app.id),
    PRIVATE_KEY: github.app.privateKey,
    WEBHOOK_SECRET: secret,
    GHE_HOST: `127.0.0.1:${github.port}`,
    GHE_PROTOCOL: "http",
    PORT: "0",
    COUNTERSIGN_WEB_PORT: "0",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    OPENAI_MODEL: "never-asked",
  };
});

afterAll(async () => {
  await github[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

describe("serve", () => {
  it("tells its parts, takes signed deliveries alone, and ends well at SIGTERM with nothing left", async () => {
    const running = countersign.start(["serve"], environment);
    await running.line(/^ready;/);
    const webhook = (await running.line(/^webhooks /)).replace(/^webhooks +/, "");
    const deliver = async (signedWith: string): Promise<number> => {
      const body = JSON.stringify({ zen: "Keep it logically awesome.", hook_id: 1 });
      const signature = `sha256=${createHmac("sha256", signedWith).update(body).digest("hex")}`;
      const headers = {
        "content-type": "application/json",
        "x-github-event": "ping",
        "x-github-delivery": "00000000-0000-4000-8000-000000000001",
        "x-hub-signature-256": signature,
      };
      return (await fetch(webhook, { method: "POST", headers, body })).status;
    };

    const ready = await fetch(new URL("/readyz", webhook));
    const answers = [await deliver(secret), await deliver("another secret")];
    running.kill("SIGTERM");
    const ended = await running.ended;

    expect(ready.status).toBe(200);
    expect(answers).toEqual([202, 401]);
    expect(ended.stderr).toContain(`github    http://127.0.0.1:${github.port}/api/v3, as countersign`);
    expect(ended.stderr).not.toContain("PRIVATE KEY");
    expect(ended).toMatchObject({ exitCode: 0, stdout: "" });
    expect(processesOf(countersign.folder)).toEqual([]);
    expect(mountsOf(countersign.folder)).toEqual([]);
  });

  it.each([
    ["APP_ID", "", /APP_ID: got nothing, expected /],
    ["WEBHOOK_SECRET", "short", /WEBHOOK_SECRET: got 5 bytes, expected /],
    ["OPENAI_MODEL", "", /OPENAI_MODEL: got nothing, expected /],
    ["WEBHOOK_PROXY_URL", "https://proxy.example.org/x", /WEBHOOK_PROXY_URL: got a value, expected none/],
  ])("does not start without a usable %s, and says so in one line", async (variable, value, line) => {
    const ended = await countersign.command(["serve"], { ...environment, [variable]: value });

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(ended.stderr).toMatch(line);
  });

  it("does not start as an App that GitHub does not know", async () => {
    const ended = await countersign.command(["serve"], { ...environment, APP_ID: "999999" });

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toMatch(/^countersign: GitHub answered 401 .* \[GITHUB_UNAUTHORIZED\]\n$/m);
  });

  it("does not start where its port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;

    const ended = await countersign.command(["serve"], { ...environment, PORT: String(port) });
    other.close();

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toContain(
      `port \`${port}\` of \`127.0.0.1\` is taken by another program; set PORT to a free port`,
    );
  });
});
