import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { credentialFiles, type GithubConfig } from "../src/config-github.ts";
import { isCountersignError } from "../src/domain/index.ts";

const pemOf = (): string =>
  generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  }).privateKey;
const pem = pemOf();
const otherPem = pemOf();
const secret = "s".repeat(32);
const needed = { APP_ID: "123456", PRIVATE_KEY: pem, WEBHOOK_SECRET: secret };

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-config-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const github = (environment: Record<string, string>): GithubConfig =>
  readConfig(environment, { root: "/opt/countersign", folder, isRoot: false }).github();

function errorOf(environment: Record<string, string>): string {
  try {
    github(environment);
  } catch (error) {
    if (isCountersignError(error, "CONFIG_INVALID")) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return "no error";
}

/** What `serve --register` leaves behind. */
async function store(files: { appId?: string; privateKey?: string; webhookSecret?: string }): Promise<void> {
  const places = credentialFiles(join(folder, ".countersign"));
  await mkdir(places.folder, { recursive: true, mode: 0o700 });
  await writeFile(places.appId, files.appId ?? "654321\n", { mode: 0o600 });
  await writeFile(places.privateKey, files.privateKey ?? pem, { mode: 0o600 });
  if (files.webhookSecret !== undefined) await writeFile(places.webhookSecret, files.webhookSecret, { mode: 0o600 });
}

describe("the configuration of GitHub", () => {
  it("needs the App's number, its key and the webhook secret; the rest has defaults", () => {
    const config = github(needed);

    expect(config).toMatchObject({
      appId: 123456,
      webhookSecretPrevious: null,
      apiUrl: "https://api.github.com",
      gitUrl: "https://github.com",
    });
    expect(config.privateKey.reveal()).toBe(pem);
    expect(config.webhookSecret.reveal()).toBe(secret);
  });

  it("needs no webhook secret for who takes no deliveries", () => {
    const { WEBHOOK_SECRET: _, ...app } = needed;
    const config = readConfig(app, { root: "/opt/countersign", folder, isRoot: false }).githubApp();

    expect(config).toMatchObject({ appId: 123456, gitUrl: "https://github.com" });
    expect(config).not.toHaveProperty("webhookSecret");
  });

  it.each([
    ["with line feeds", pem],
    ["with \\n written for each", pem.replaceAll("\n", "\\n")],
    ["in base64", Buffer.from(pem).toString("base64")],
  ])("takes a key %s", (_, text) => {
    expect(github({ ...needed, PRIVATE_KEY: text }).privateKey.reveal()).toBe(pem);
  });

  it("takes a key from a file, relative to the current folder", async () => {
    await writeFile(join(folder, "app.pem"), pem);

    expect(github({ ...needed, PRIVATE_KEY: "", PRIVATE_KEY_PATH: "app.pem" }).privateKey.reveal()).toBe(pem);
  });

  it("accepts an earlier webhook secret during a rotation", () => {
    const config = github({ ...needed, WEBHOOK_SECRET_PREVIOUS: "p".repeat(40) });

    expect(config.webhookSecretPrevious?.reveal()).toBe("p".repeat(40));
  });

  it.each([
    [{ GHE_HOST: "github.example.org" }, "https://github.example.org"],
    [{ GHE_HOST: "github.example.org:8443" }, "https://github.example.org:8443"],
    [{ GHE_HOST: "127.0.0.1:4000", GHE_PROTOCOL: "http" }, "http://127.0.0.1:4000"],
    [{ GHE_HOST: "localhost:4000", GHE_PROTOCOL: "http" }, "http://localhost:4000"],
    [{ GHE_HOST: "[::1]:4000", GHE_PROTOCOL: "http" }, "http://[::1]:4000"],
  ])("finds an Enterprise Server by %j", (environment, origin) => {
    expect(github({ ...needed, ...environment })).toMatchObject({ apiUrl: `${origin}/api/v3`, gitUrl: origin });
  });

  it("holds secrets that don't show when it is printed", () => {
    const text = JSON.stringify(github({ ...needed, WEBHOOK_SECRET_PREVIOUS: "p".repeat(40) }));

    expect(text).not.toContain("PRIVATE KEY");
    expect(text).not.toContain(secret);
    expect(text).not.toContain("pppp");
  });
});

describe("stored credentials", () => {
  it("are used where the environment names none", async () => {
    await store({ webhookSecret: `${"w".repeat(40)}\n` });

    const config = github({});

    expect(config.appId).toBe(654321);
    expect(config.privateKey.reveal()).toBe(pem);
    expect(config.webhookSecret.reveal()).toBe("w".repeat(40));
  });

  it("never mix with the environment's: a number of one App with the key of another would only fail later", async () => {
    await store({ privateKey: otherPem, webhookSecret: "w".repeat(40) });

    expect(errorOf({ APP_ID: "1" })).toMatch(/^PRIVATE_KEY: got nothing, expected /);
    expect(github(needed).privateKey.reveal()).toBe(pem);
  });

  it("leave the webhook secret to the environment, for a rotation or where GitHub gave none", async () => {
    await store({});

    expect(errorOf({})).toMatch(/^WEBHOOK_SECRET: got nothing, expected /);
    expect(github({ WEBHOOK_SECRET: secret }).webhookSecret.reveal()).toBe(secret);
  });

  it("that others can read stop the start with what to type", async () => {
    await store({ webhookSecret: "w".repeat(40) });
    const { privateKey } = credentialFiles(join(folder, ".countersign"));
    await chmod(privateKey, 0o640);

    expect(errorOf({})).toBe(
      `the credential file \`${privateKey}\` can be read by others; type \`chmod 600 ${privateKey}\`, and ask who may have read it`,
    );
  });

  it.each([
    { appId: "none", file: "app-id" },
    { privateKey: pem.slice(0, 200), file: "private-key.pem" },
  ])("that are damaged stop the start with the file: $file", async ({ file, ...damaged }) => {
    await store(damaged);

    expect(errorOf({})).toContain(`/keys/github-app/${file}\` is damaged; restore it from your backup`);
  });
});

describe("a value of GitHub's that can't be used stops the start", () => {
  it.each([
    ["APP_ID", "0", "`0`"],
    ["APP_ID", "Iv1.abc", "`Iv1.abc`"],
    ["APP_ID", "1 2", "`1 2`"],
    ["PRIVATE_KEY", "hunter2", "a value that is no PEM key"],
    ["PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\nhunter2", "a value that is no PEM key"],
    ["WEBHOOK_SECRET", "s".repeat(31), "31 bytes"],
    ["WEBHOOK_SECRET", `${"s".repeat(32)}\n`, "a value with control characters"],
    ["WEBHOOK_SECRET_PREVIOUS", "short", "5 bytes"],
    ["GHE_HOST", "https://github.example.org", "`https://github.example.org`"],
    ["GHE_HOST", "github.example.org/path", "`github.example.org/path`"],
    ["GHE_HOST", "host:99999", "`host:99999`"],
    ["GHE_PROTOCOL", "ssh", "`ssh`"],
  ])("%s=%j: variable, what was got, what is expected, an example", (variable, value, got) => {
    const line = errorOf({ ...needed, [variable]: value });

    expect(line.startsWith(`${variable}: got ${got}, expected `)).toBe(true);
    expect(line).toContain(`; for example ${variable}=`);
    expect(line).not.toContain("hunter2");
    expect(line).not.toContain("\n");
  });

  it.each(["APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET"])("names %s where it is missing", (variable) => {
    expect(errorOf({ ...needed, [variable]: "" })).toMatch(new RegExp(`^${variable}: got nothing, expected `));
  });

  it("refuses http to another machine", () => {
    const line = errorOf({ ...needed, GHE_HOST: "github.example.org", GHE_PROTOCOL: "http" });

    expect(line).toContain("GHE_PROTOCOL: got `http` for `github.example.org`, expected https: tokens would cross");
  });

  it("refuses a key that is not RSA, and a file that is absent or holds none", async () => {
    const ed25519 = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await writeFile(join(folder, "empty.pem"), "");

    expect(errorOf({ ...needed, PRIVATE_KEY: ed25519 })).toContain("PRIVATE_KEY: got a value that is no PEM key");
    const withFile = { ...needed, PRIVATE_KEY: "" };
    expect(errorOf({ ...withFile, PRIVATE_KEY_PATH: "absent.pem" })).toContain("which can't be read (ENOENT)");
    expect(errorOf({ ...withFile, PRIVATE_KEY_PATH: "empty.pem" })).toContain("which holds none");
  });

  it("keeps no other command from working: it is looked at where it is needed", () => {
    expect(() => readConfig({ APP_ID: "none" }, { root: "/opt", folder, isRoot: false })).not.toThrow();
  });
});
