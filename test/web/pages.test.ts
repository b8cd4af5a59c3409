import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRedactor, type RunId, Secret } from "../../src/domain/index.ts";
import { sealCommitted } from "../../src/ledger/index.ts";
import { type Pages, startPages } from "../../src/web/index.ts";
import { anEntry, openTestLedger, recordAction, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

const token = randomBytes(16).toString("hex");
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\u001b[31mred\u202e\"'&";

let store: TestStore;
let held: TestLedger;
let pages: Pages;
let runId: RunId;
let actionId: string;
let longActionId: string;
let nowMs = 0;
const troubles: string[] = [];

const deps = () => ({
  store,
  keys: held.keys,
  clock: () => nowMs,
  redact: createRedactor([new Secret("planted-secret")]).redact,
  onTrouble: (line: string) => void troubles.push(line),
});
const settings = { port: 0, token: new Secret(token), publicUrl: "https://pages.example.org/under" };

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  pages = await startPages(deps(), settings);
  ({ runId, actionId, longActionId } = await aRun());
});
afterAll(async () => {
  await pages[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** A run in whose every text a stranger or the model says what would act in a browser or a terminal. */
async function aRun() {
  const lease = await held.newRun();
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const texts = {
    summary: encode(JSON.stringify({ title: hostile, summary: `${hostile} planted-secret`, cause: hostile })),
    requester: encode(JSON.stringify({ login: hostile, permission: "write" })),
    patch: encode(`+${hostile} planted-secret\n`),
  };
  const { sealed, commitments } = sealCommitted(null, { bytes: randomBytes(32), isNew: true }, texts);
  const entry = anEntry(lease.runId, { type: "run", evidence: { status: "in_progress", commitments } });
  await held.ledger.append(lease, { entries: [entry], sealed }, async (tx) => {
    await tx
      .insertInto("runs")
      .values({
        run_id: lease.runId,
        trace_id: held.keys.traceId(lease.runId),
        repository_id: "1",
        repository_name: hostile,
        requester_id: "1",
        requester_login: hostile,
        requester_permission: "write",
        issue_number: 7,
        base_sha: "",
        status: "in_progress",
        conclusion: null,
        stop_reason: null,
        lease_owner: null,
        lease_expires_at: null,
        started_at: "2026-01-01T00:00:00.000Z",
        completed_at: null,
        limits: "{}",
      })
      .execute();
  });
  const raw = JSON.stringify({ path: hostile });
  const action = await recordAction(held.ledger, lease, "succeeded", { raw, canonical: raw, result: hostile });
  await recordAction(held.ledger, lease, "denied", { raw, canonical: raw, result: "" });
  const result = `${"x".repeat(19_990)}planted-secret${"y".repeat(100)}`;
  const long = await recordAction(held.ledger, lease, "succeeded", { raw, canonical: raw, result });
  return { runId: lease.runId, actionId: action, longActionId: long };
}

type Sent = { readonly method?: string; readonly headers?: Record<string, string>; readonly at?: Pages };

/** By hand: the path goes out as it stands, and the host may be any. */
async function send(path: string, { method = "GET", headers = {}, at = pages }: Sent = {}) {
  const sent = request({ host: "127.0.0.1", port: at.port, path, method, headers, agent: false });
  sent.end();
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode as number,
    headers: response.headers as Record<string, string>,
    text: Buffer.concat(chunks).toString(),
  };
}
const basic = (password: string, user = "anyone") => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});
const asOperator = (headers: Record<string, string> = {}) => ({ headers: { ...basic(token), ...headers } });

describe("the credential of the pages (SEC-114, AT-37)", () => {
  it("is the token: as the password of any user, or as bearer", async () => {
    for (const headers of [basic(token), basic(token, ""), { authorization: `Bearer ${token}` }]) {
      expect(await send("/runs", { headers })).toMatchObject({ status: 200 });
    }
  });

  it.each<[string, Record<string, string>]>([
    ["none", {}],
    ["a wrong one", basic("wrong")],
    ["the beginning of the right one", basic(token.slice(0, -1))],
    ["more than the right one", basic(`${token}x`)],
    ["an empty password", basic("")],
    ["the token as the user", basic("", token)],
    ["the token in another scheme", { authorization: `Digest ${token}` }],
    ["no base64", { authorization: "Basic %%%" }],
    ["a cookie", { cookie: `token=${token}` }],
  ])("where it is %s the answer is 401 and nothing is shown", async (_case, headers) => {
    nowMs += 3_600_000;

    const { status, headers: told, text } = await send("/runs", { headers });

    expect({ status, text }).toEqual({ status: 401, text: "credential\n" });
    expect(told["www-authenticate"]).toContain("Basic ");
  });

  it("is never taken from an address", async () => {
    nowMs += 3_600_000;

    expect(await send(`/runs?token=${token}&access_token=${token}`)).toMatchObject({ status: 401 });
  });

  it("where no token is set every page is 404, with the right word too", async () => {
    await using closed = await startPages(deps(), { ...settings, token: null });

    for (const path of ["/", "/runs", `/runs/${runId}`, `/actions/${actionId}`]) {
      expect(await send(path, { ...asOperator(), at: closed })).toMatchObject({ status: 404, text: "not_found\n" });
    }
  });

  it("is tried ten times in a row, and then with long pauses; the right one is shown the page all the while", async () => {
    nowMs += 3_600_000;
    const statuses: number[] = [];
    for (let count = 0; count < 12; count += 1)
      statuses.push((await send("/runs", { headers: basic("guess") })).status);

    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(await send("/runs", asOperator())).toMatchObject({ status: 200 });
  });
});

describe("who may ask for a page (SEC-114, AT-37)", () => {
  it("is on loopback alone", async () => {
    const elsewhere = connect(pages.port, "127.0.0.2");

    const [error] = await once(elsewhere, "error");

    expect(error).toMatchObject({ code: "ECONNREFUSED" });
  });

  it.each([
    ["127.0.0.1", 200],
    ["localhost:3001", 200],
    ["[::1]:3001", 200],
    ["pages.example.org", 200],
    ["PAGES.example.org:443", 200],
    ["evil.example", 421],
    ["127.0.0.1.evil.example", 421],
    ["localhost@evil.example", 400],
  ])("for the host `%s` the answer is %i", async (host, status) => {
    nowMs += 3_600_000;

    expect((await send("/runs", asOperator({ host }))).status).toBe(status);
  });

  it.each<[string, Record<string, string>, number]>([
    ["another site", { origin: "https://evil.example" }, 403],
    ["nowhere", {}, 403],
    ["a frame of its own", { origin: "null" }, 403],
    ["another port", { origin: "http://127.0.0.1:1" }, 403],
  ])("a POST from %s is refused", async (_case, headers, status) => {
    nowMs += 3_600_000;

    expect(await send("/runs", { method: "POST", ...asOperator(headers) })).toMatchObject({ status });
    expect(await send("/runs", { method: "POST", headers })).toMatchObject({ status });
  });

  it("a POST from the pages themselves changes nothing either: they are read-only", async () => {
    const host = `127.0.0.1:${pages.port}`;
    const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };

    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      expect(await send("/runs", { method, ...asOperator(headers) })).toMatchObject({ status: 405 });
    }
  });

  it("may not ask without end", async () => {
    nowMs += 3_600_000;
    const statuses: number[] = [];
    for (let count = 0; count < 125; count += 1) statuses.push((await send("/nothing", asOperator())).status);

    expect(statuses.slice(0, 120).every((status) => status === 404)).toBe(true);
    expect(statuses.slice(120)).toEqual(Array<number>(5).fill(429));
    nowMs += 60_000;
    expect((await send("/runs", asOperator())).status).toBe(200);
  });
});

describe("what a page shows (SEC-114, AT-37)", () => {
  it.each<[string, () => string]>([
    ["/runs", () => "/runs"],
    ["/runs/:runId", () => `/runs/${runId}`],
    ["/actions/:actionId", () => `/actions/${actionId}`],
  ])("%s escapes what others wrote, and makes visible what a terminal would obey", async (_route, path) => {
    nowMs += 3_600_000;

    const { status, text, headers } = await send(path(), asOperator());

    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(text).not.toMatch(/<(script|img)/i);
    expect(text).toContain("&lt;script&gt;");
    expect(text).toContain("\\u{1B}[31mred\\u{202E}");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(text).not.toContain("planted-secret");
  });

  it("a run: its state, who asked, its actions, and on a list of their own those not done (AUD-85, AUD-87)", async () => {
    const { text } = await send(`/runs/${runId}`, asOperator());

    expect(text).toContain("in_progress");
    expect(text).toContain(`<a href="/actions/${actionId}">`);
    const [, notDone = ""] = text.split("<h2>Not done</h2>");
    expect(notDone).toContain("deny-all");
    expect(notDone).not.toContain(actionId);
  });

  it("an action: what was proposed, validated and done, side by side, and each state (AUD-86)", async () => {
    const { text } = await send(`/actions/${actionId}`, asOperator());

    for (const part of ["Proposed", "Validated", "Effect", "intent_recorded", "succeeded", "allow-all"]) {
      expect(text).toContain(part);
    }
  });

  it("a long text cut, after its secrets were taken out: no half of one is left (SEC-100)", async () => {
    nowMs += 3_600_000;

    const { text } = await send(`/actions/${longActionId}`, asOperator());

    expect(text).toContain(`${"x".repeat(1_000)}[red`);
    expect(text).toContain("(cut)");
    expect(text).not.toContain("plant");
    expect(text).not.toContain("yyyy");
  });

  it("a patch as a download that no browser shows, without secrets", async () => {
    const { status, headers, text } = await send(`/runs/${runId}/patch`, asOperator());

    expect(status).toBe(200);
    expect(headers["content-disposition"]).toBe(`attachment; filename="${runId}.patch"`);
    expect(headers["content-type"]).toBe("application/octet-stream");
    expect(text).toContain("<script>");
    expect(text).toContain("[redacted]");
  });

  it.each([
    "/",
    "/runs/..%2f..%2fetc%2fpasswd",
    "/runs/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f",
    "/runs/..%5c..%5cx",
    "/actions/%00",
    "/actions/%ff",
    "/runs/00000000-0000-7000-8000-000000000000",
    "/actions/00000000-0000-7000-8000-000000000000",
    "/runs/__proto__",
    "/runs/x'%20or%201=1--",
  ])("nothing under `%s`: 404", async (path) => {
    nowMs += 3_600_000;

    expect(await send(path, asOperator())).toMatchObject({ status: 404, text: "not_found\n" });
  });

  it("with headers that let nothing be loaded, framed, guessed or kept, whatever the answer is", async () => {
    nowMs += 3_600_000;
    const answers = [
      await send("/runs", asOperator()),
      await send("/runs"),
      await send("/nothing", asOperator()),
      await send(`/runs/${runId}/patch`, asOperator()),
      await send("/runs", { method: "POST", ...asOperator({ origin: "https://evil.example" }) }),
    ];

    for (const { headers } of answers) {
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'/,
      );
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|script-src|\*/);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
      });
      expect(headers["set-cookie"]).toBeUndefined();
    }
  });

  it("nothing of a fault: 500, and the operator is told", async () => {
    const closed = await openTestStore({ database: store.database });
    await closed[Symbol.asyncDispose]();
    await using broken = await startPages({ ...deps(), store: closed }, settings);

    expect(await send("/runs", { ...asOperator(), at: broken })).toMatchObject({ status: 500, text: "page_failed\n" });
    expect(troubles).toEqual(["a page could not be made"]);
  });
});

it("says which port is taken", async () => {
  await expect(startPages(deps(), { ...settings, port: pages.port })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    remedy: "set COUNTERSIGN_WEB_PORT to a free port",
  });
});
