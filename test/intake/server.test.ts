import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { createIntake, type IntakeDeps, intakeTimes } from "../../src/intake/index.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import {
  intakeDeps,
  labelled,
  newDeliveryId,
  operatorWith,
  sign,
  startIntake,
  type TestIntake,
  webhookSecret,
} from "../support/webhooks.ts";

let store: TestStore;
let held: TestLedger;
let intake: TestIntake;

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  intake = await startIntake(deps());
});
afterAll(async () => {
  await intake[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const deps = (changes: Partial<IntakeDeps> = {}): IntakeDeps => ({ ...intakeDeps(store, held), ...changes });
const path = "/api/github/webhooks";
type Headers = Record<string, string | string[]>;

/** A request by hand: headers may stand twice and the body may be anything. */
async function post(
  body: string | Buffer,
  headers: Headers = {},
  to = intake,
): Promise<{ status: number; text: string }> {
  const sent = request(`${to.url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-github-event": "issues",
      "x-github-delivery": newDeliveryId(),
      "x-hub-signature-256": sign(body),
      ...headers,
    },
  });
  sent.end(body);
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, text: Buffer.concat(chunks).toString() };
}

const countOf = async () => (await store.sql<{ n: number }>("select count(*) as n from deliveries"))[0]?.n;
const text = () => JSON.stringify(labelled());

describe("the webhook server (SEC-110, SEC-111)", () => {
  it("answers 202 to a signed delivery", async () => {
    expect(await post(text())).toMatchObject({ status: 202 });
  });

  it("takes the secret before the last change too, and no other", async () => {
    const previous = "the secret that was there before, of 32 bytes";
    await using rotating = await startIntake(deps(), [webhookSecret, previous]);

    for (const [secret, status] of [
      [webhookSecret, 202],
      [previous, 202],
      ["w".repeat(40), 401],
    ] as const) {
      const body = text();
      expect(await post(body, { "x-hub-signature-256": sign(body, secret) }, rotating)).toMatchObject({ status });
    }
  });

  it("answers 401 to a body changed by one byte after signing, and stores nothing (AT-1)", async () => {
    const before = await countOf();
    const body = text();
    const changed = body.replace("wrong", "wrung");

    expect(await post(changed, { "x-hub-signature-256": sign(body) })).toMatchObject({ status: 401 });
    expect(await countOf()).toBe(before);
  });

  it("answers 401 to the same JSON in another order of keys under the old signature (AT-3)", async () => {
    const payload = labelled();
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(payload).reverse()));

    expect(await post(reordered, { "x-hub-signature-256": sign(JSON.stringify(payload)) })).toMatchObject({
      status: 401,
    });
  });

  it("answers 401 where only the SHA-1 signature is there, none is, or two are (AT-2)", async () => {
    const body = text();
    const sha1 = `sha1=${createHmac("sha1", webhookSecret).update(body).digest("hex")}`;

    expect(await post(body, { "x-hub-signature-256": [], "x-hub-signature": sha1 })).toMatchObject({ status: 401 });
    expect(await post(body, { "x-hub-signature-256": [] })).toMatchObject({ status: 401 });
    expect(await post(body, { "x-hub-signature-256": [sign(body), sign(body)] })).toMatchObject({ status: 401 });
    expect(await post(body, { "x-hub-signature-256": [sign(body), "sha256=00"] })).toMatchObject({ status: 401 });
  });

  it.each([
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["text", { "content-type": "text/plain" }],
    ["JSON of another kind", { "content-type": "application/json+x" }],
    ["another charset", { "content-type": "application/json; charset=utf-16" }],
    ["compressed JSON", { "content-encoding": "gzip" }],
  ])("answers 415 to %s", async (_case, headers) => {
    expect(await post(text(), headers)).toMatchObject({ status: 415 });
  });

  it("takes `application/json` with its charset", async () => {
    expect(await post(text(), { "content-type": "application/json; charset=utf-8" })).toMatchObject({ status: 202 });
  });

  it.each([
    ["no JSON", "action=labeled"],
    ["nothing", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["a text", '"labeled"'],
    ["two equal keys", '{"action":"opened","action":"labeled"}'],
    ["a key `__proto__`", '{"__proto__":{"action":"labeled"}}'],
    ["nesting without end", `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])("answers 415 to %s, though it is signed", async (_case, body) => {
    expect(await post(body)).toMatchObject({ status: 415 });
  });

  it.each([
    ["with a slash", "../../etc"],
    ["of one character too many", "a".repeat(65)],
    ["that is empty", ""],
  ])("answers 415 to a delivery id %s", async (_case, id) => {
    expect(await post(text(), { "x-github-delivery": id })).toMatchObject({ status: 415 });
  });

  it("answers 415 to two delivery ids", async () => {
    expect(await post(text(), { "x-github-delivery": ["a", "b"] })).toMatchObject({ status: 415 });
  });

  it.each([
    ["an event of another shape", "issue_comment", "action_not_handled"],
    ["no event's name", "", "event_not_handled"],
    ["a name of every object", "constructor", "event_not_handled"],
    ["a name that Probot takes for itself", "error", "event_not_handled"],
    ["a name for all events", "*", "event_not_handled"],
  ])("records a body under %s as ignored", async (_case, event, code) => {
    expect(await post(text(), { "x-github-event": event })).toMatchObject({
      status: 202,
      text: `{"result":"ignored","code":"${code}"}\n`,
    });
  });

  it("asks nothing of an address that stands in a payload, whatever field it is in (SEC-113)", async () => {
    let callCount = 0;
    const listener = createServer((_request, response) => {
      callCount += 1;
      response.end("{}");
    });
    await once(listener.listen(0, "127.0.0.1"), "listening");
    const address = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
    const urls = Object.fromEntries(
      "url html_url clone_url git_url hooks_url events_url repository_url comments_url labels_url avatar_url access_tokens_url"
        .split(" ")
        .map((field) => [field, address]),
    );
    const { issue, repository, sender, installation, ...payload } = labelled();
    const body = JSON.stringify({
      ...payload,
      ...urls,
      issue: { ...issue, ...urls, body: `see ${address} and ![x](${address})`, title: address },
      repository: { ...repository, ...urls },
      sender: { ...sender, ...urls },
      installation: { ...installation, ...urls },
    });

    const answered = await post(body);
    listener.close();

    expect(answered).toMatchObject({ status: 202, text: '{"result":"started","code":"done"}\n' });
    expect(callCount).toBe(0);
  });

  it("records a body that lacks what its event has as ignored", async () => {
    const body = JSON.stringify({ action: "labeled", issue: 1 });

    expect(await post(body)).toMatchObject({ status: 202, text: '{"result":"ignored","code":"shape_unknown"}\n' });
  });

  it("answers 413 to a body of 30 MB, announced or not (AT-5)", async () => {
    const body = Buffer.alloc(30_000_000, "x");

    expect(await post(body)).toMatchObject({ status: 413 });
    expect(await post(body, { "content-length": [], "transfer-encoding": "chunked" })).toMatchObject({ status: 413 });
  });

  it("takes larger bodies where the operator says so", async () => {
    const body = JSON.stringify({ ...labelled(), padding: "x".repeat(1_200_000) });
    await using wide = await startIntake(deps({ operator: operatorWith({ webhook: { body_bytes: 2_000_000 } }) }));

    expect(await post(body)).toMatchObject({ status: 413 });
    expect(await post(body, {}, wide)).toMatchObject({ status: 202 });
  });

  it("ends a connection whose body drips, without a delivery (AT-5)", async () => {
    const before = await countOf();
    const times = { ...intakeTimes, headersMs: 100, requestMs: 200, checkMs: 20 };
    await using hasty = await startIntake(deps({ times }));
    const { port } = new URL(hasty.url);
    const socket = connect(Number(port), "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("error", () => undefined);
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`);

    await once(socket, "close");

    expect(received).not.toMatch(/ 202 /);
    expect(await countOf()).toBe(before);
  });

  it("ends a connection whose headers drip", async () => {
    const times = { ...intakeTimes, headersMs: 100, requestMs: 200, checkMs: 20 };
    await using hasty = await startIntake(deps({ times }));
    const socket = connect(Number(new URL(hasty.url).port), "127.0.0.1");
    socket.on("data", () => undefined);
    socket.on("error", () => undefined);
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\nx-`);

    await once(socket, "close");
  });

  it("answers 431 to headers past their cap", async () => {
    expect(await post("{}", { "x-long": "x".repeat(20_000) })).toMatchObject({ status: 431 });
  });

  it("answers 500 where storing takes too long, while GitHub still listens", async () => {
    const reached = Promise.withResolvers<void>();
    const append = () => {
      reached.resolve();
      return new Promise<never>(() => undefined);
    };
    await using stuck = await startIntake(deps({ ledger: { append }, times: { ...intakeTimes, answerMs: 50 } }));

    expect(await stuck.send("issues", labelled())).toMatchObject({
      status: 500,
      body: { error: "LEDGER_UNAVAILABLE" },
    });
    // What goes on after the answer has then written its key files.
    await reached.promise;
  });

  it.each([
    ["GET", path, 405],
    ["PUT", path, 405],
    ["POST", "/healthz", 405],
    ["POST", "/", 404],
    ["GET", "/", 404],
    ["GET", `${path}/more`, 404],
    ["GET", "/probot", 404],
  ])("answers to %s %s with %d", async (method, at, status) => {
    expect((await fetch(`${intake.url}${at}`, { method })).status).toBe(status);
  });

  it("says that it lives, and whether it is ready", async () => {
    const health = async () => ({ isReady: false, facts: { database: "unreachable" } });
    await using unready = await startIntake(deps({ health }));
    await using broken = await startIntake(deps({ health: () => Promise.reject(new Error("no")) }));

    expect((await fetch(`${unready.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${intake.url}/readyz`)).status).toBe(200);
    const answer = await fetch(`${unready.url}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([503, { database: "unreachable", ok: false }]);
    expect((await fetch(`${broken.url}/readyz`)).status).toBe(503);
  });

  it("is not made with a secret that is missing or short", () => {
    for (const webhookSecrets of [[], [new Secret("s".repeat(31))], [new Secret(webhookSecret), new Secret("short")]]) {
      const settings = { privateKey: new Secret("k"), webhookSecrets, webhookPath: path };

      expect(() => createIntake(deps(), settings)).toThrowError(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
  });

  it("says which port is taken", async () => {
    const settings = { privateKey: new Secret("k"), webhookSecrets: [new Secret(webhookSecret)], webhookPath: path };
    await using second = createIntake(deps(), settings);

    await expect(second.listen(Number(new URL(intake.url).port), "127.0.0.1")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  });
});
