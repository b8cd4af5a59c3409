import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RegisterSettings, type Registration, readAppManifest, registerApp } from "../../src/app/index.ts";
import { credentialFiles } from "../../src/config-github.ts";
import { isCountersignError } from "../../src/domain/index.ts";
import { convertManifest } from "../../src/github/index.ts";

const appFile = join(import.meta.dirname, "../../app.yml");
const pem = "-----BEGIN RSA PRIVATE KEY-----\nkey\n-----END RSA PRIVATE KEY-----\n";

/** Stands for GitHub: makes an App of each form that is sent, and hands its credentials over once. */
let github: { readonly url: string; readonly server: Server; readonly codes: Map<string, string | null> };
let folder = "";
let settings: RegisterSettings;
let stop: AbortController;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-register-"));
  const codes = new Map<string, string | null>();
  const server = createServer((request, response) => {
    const code = /^\/api\/v3\/app-manifests\/(.+)\/conversions$/.exec(request.url ?? "")?.[1] ?? "";
    const webhookSecret = codes.get(code);
    response.writeHead(codes.delete(code) ? 201 : 404, { "content-type": "application/json" });
    const html_url = `${github.url}/github-apps/countersign`;
    response.end(JSON.stringify({ id: 77, slug: "countersign", html_url, pem, webhook_secret: webhookSecret }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  github = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, codes };
  stop = new AbortController();
  settings = {
    publicAddress: "https://countersign.example.org",
    host: "127.0.0.1",
    port: 0,
    webhookPath: "/api/github/webhooks",
    githubUrl: github.url,
    organization: null,
    manifest: await readAppManifest(appFile),
    files: credentialFiles(join(folder, "home")),
  };
});
afterEach(async () => {
  stop.abort(new Error("the test is over"));
  github.server.close();
  github.server.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});

type Registering = {
  /** Where our pages are; the address for people is another, of the proxy before us. */
  readonly local: string;
  readonly formUrl: string;
  readonly ended: Promise<Registration | string>;
};

/** Starts a registration and answers when its form can be opened. */
async function start(changed: Partial<RegisterSettings> = {}): Promise<Registering> {
  const ready = Promise.withResolvers<string>();
  const port = await freePort();
  const deps = {
    randomBytes,
    convert: (code: string, signal: AbortSignal) => convertManifest(`${github.url}/api/v3`, code, signal),
    onReady: ready.resolve,
  };
  const ended = registerApp(deps, { ...settings, port, ...changed }, stop.signal).catch((error: unknown) => {
    ready.resolve("");
    if (isCountersignError(error)) return `${error.message}; ${error.remedy} [${error.code}]`;
    return error instanceof Error ? error.message : "unknown";
  });
  return { local: `http://127.0.0.1:${port}`, formUrl: await ready.promise, ended };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  const closed = once(probe, "close");
  probe.close();
  await closed;
  return port;
}

async function get(
  registering: Registering,
  path: string,
): Promise<{ status: number; html: string; headers: Headers }> {
  const response = await fetch(`${registering.local}${path}`);
  return { status: response.status, html: await response.text(), headers: response.headers };
}

const unescaped = (html: string): string =>
  html.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** Opens the form and answers with what its button would send. */
async function openForm(
  registering: Registering,
): Promise<{ action: string; state: string; manifest: Record<string, unknown>; html: string; headers: Headers }> {
  const { html, headers } = await get(registering, new URL(registering.formUrl).pathname);
  const action = unescaped(/action="([^"]*)"/.exec(html)?.[1] ?? "");
  const manifest = JSON.parse(unescaped(/name="manifest" value="([^"]*)"/.exec(html)?.[1] ?? "")) as Record<
    string,
    unknown
  >;
  return { action, state: new URL(action).searchParams.get("state") ?? "", manifest, html, headers };
}

const callback = (code: string, state: string): string => `/register/callback?code=${code}&state=${state}`;

describe("registering an App", () => {
  it("sends what app.yml asks for to GitHub, with our addresses and a state of this form alone", async () => {
    const registering = await start();

    const first = await openForm(registering);
    const second = await openForm(registering);

    expect(registering.formUrl).toMatch(/^https:\/\/countersign\.example\.org\/register\/[\w-]{43}$/);
    expect(first.action).toBe(`${github.url}/settings/apps/new?state=${first.state}`);
    expect(first.state).toMatch(/^[\w-]{43}$/);
    expect(second.state).not.toBe(first.state);
    expect(first.manifest).toMatchObject({
      name: "Countersign",
      public: false,
      default_permissions: {
        contents: "write",
        issues: "write",
        pull_requests: "write",
        checks: "write",
        metadata: "read",
      },
      hook_attributes: { url: "https://countersign.example.org/api/github/webhooks", active: true },
      redirect_url: "https://countersign.example.org/register/callback",
    });
    expect(first.headers.get("content-security-policy")).toContain(`default-src 'none'; form-action ${github.url};`);
    expect(first.headers.get("referrer-policy")).toBe("no-referrer");
  });

  it("stores the credentials for its owner alone and says what to do next", async () => {
    github.codes.set("good", "w".repeat(40));
    const registering = await start();
    const { state } = await openForm(registering);

    const page = await get(registering, callback("good", state));

    const { folder: stored, ...files } = settings.files;
    expect(page).toMatchObject({ status: 200 });
    expect(await registering.ended).toEqual({
      appId: 77,
      installUrl: `${github.url}/github-apps/countersign/installations/new`,
      folder: stored,
      hasWebhookSecret: true,
    });
    expect(await readFile(files.appId, "utf8")).toBe("77\n");
    expect(await readFile(files.privateKey, "utf8")).toBe(pem);
    expect(await readFile(files.webhookSecret, "utf8")).toBe(`${"w".repeat(40)}\n`);
    for (const file of Object.values(files)) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(stored)).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, "home", "keys"))).toEqual(["github-app"]);
    expect((await stat(join(folder, "home"))).mode & 0o777).toBe(0o711);
    await expect(fetch(registering.local)).rejects.toThrow();
  });

  it("stores no webhook secret where GitHub gave none", async () => {
    github.codes.set("good", null);
    const registering = await start();
    await get(registering, callback("good", (await openForm(registering)).state));

    expect(await registering.ended).toMatchObject({ hasWebhookSecret: false });
    expect(await readdir(settings.files.folder)).toEqual(["app-id", "private-key.pem"]);
  });

  it("asks an organization's page where one is named", async () => {
    const registering = await start({ organization: "octo-org" });

    expect((await openForm(registering)).action).toContain(
      `${github.url}/organizations/octo-org/settings/apps/new?state=`,
    );
  });

  it.each(["wrong", ""])("refuses a state that it never gave (%j), and goes on", async (state) => {
    github.codes.set("good", "w".repeat(40));
    const registering = await start();
    const form = await openForm(registering);

    const refused = await get(registering, callback("good", state));
    const done = await get(registering, callback("good", form.state));

    expect(refused).toMatchObject({ status: 400 });
    expect(refused.html).toContain("belongs to no open form");
    expect(done).toMatchObject({ status: 200 });
  });

  it("takes each state once, even where GitHub did not know the code", async () => {
    github.codes.set("good", "w".repeat(40));
    const registering = await start();
    const { state } = await openForm(registering);

    const expired = await get(registering, callback("expired", state));
    const replayed = await get(registering, callback("good", state));
    const done = await get(registering, callback("good", (await openForm(registering)).state));

    expect(expired).toMatchObject({ status: 400 });
    expect(expired.html).toContain("GitHub does not know this code");
    expect(replayed).toMatchObject({ status: 400 });
    expect(done).toMatchObject({ status: 200 });
    expect(await registering.ended).toMatchObject({ appId: 77 });
  });

  it("answers nothing else, and shows the form only to who knows its address", async () => {
    const registering = await start();

    for (const path of ["/", "/register", "/register/guess", "/api/github/webhooks", "//", "/healthz"]) {
      expect(await get(registering, path), path).toMatchObject({ status: 404 });
    }
    const posted = await fetch(`${registering.local}${new URL(registering.formUrl).pathname}`, { method: "POST" });
    expect(posted.status).toBe(404);
  });

  it("is not done twice: credentials are never overwritten", async () => {
    await mkdir(settings.files.folder, { recursive: true });

    const { ended } = await start();

    expect(await ended).toMatch(/holds the credentials of an App already; use the App .* \[ALREADY_REGISTERED\]$/);
  });

  it("loses a race against another registration without touching what that one stored", async () => {
    github.codes.set("good", "w".repeat(40));
    const registering = await start();
    const { state } = await openForm(registering);
    await mkdir(settings.files.folder, { recursive: true });
    await writeFile(settings.files.appId, "1\n");

    await get(registering, callback("good", state));

    expect(await registering.ended).toMatch(/\[ALREADY_REGISTERED\]$/);
    expect(await readFile(settings.files.appId, "utf8")).toBe("1\n");
    expect(await readdir(join(folder, "home", "keys"))).toEqual(["github-app"]);
  });

  it.each([
    "http://countersign.example.org",
    "countersign.example.org",
    "https://example.org/countersign",
    "https://someone@example.org",
  ])("refuses an address that GitHub should not send deliveries to: %s", async (publicAddress) => {
    const { ended } = await start({ publicAddress });

    expect(await ended).toContain(`--register: got \`${publicAddress}\`, expected an https address without a path`);
  });

  it("refuses an organization that can't be one", async () => {
    const { ended } = await start({ organization: "../settings" });

    expect(await ended).toContain("--organization: got `../settings`");
  });

  it("says so where the port is taken", async () => {
    const { ended } = await start({ port: Number(new URL(github.url).port) });

    expect(await ended).toMatch(/^port `\d+` of `127\.0\.0\.1` is taken by another program; .* \[CONFIG_INVALID\]$/);
  });

  it("ends with the reason of the signal and leaves nothing open", async () => {
    const registering = await start();

    stop.abort(new Error("stopped on purpose"));

    expect(await registering.ended).toBe("stopped on purpose");
    await expect(fetch(registering.local)).rejects.toThrow();
  });
});
