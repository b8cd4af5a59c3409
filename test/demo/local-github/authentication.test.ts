import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, jsonWebToken, openGithub, tokenFor } from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
const signal = new AbortController().signal;

beforeAll(async () => {
  at = await openGithub(signal);
  await at.github.createRepository({ owner: "ada", name: "second", source: { kind: "empty" } }, signal);
  await at.github.createRepository(
    { owner: "ada", name: "apart", source: { kind: "empty" }, isInstalled: false },
    signal,
  );
});
afterAll(() => at[Symbol.asyncDispose]());

const nowS = (): number => Math.floor(at.nowMs() / 1000);

test("takes the App's JSON web token, by its number as text too", async () => {
  const reply = await caller(at, jsonWebToken(at, { iss: String(at.github.app.id) }))("GET", "/app");

  expect(reply).toMatchObject({ status: 200, body: { id: at.github.app.id, slug: at.github.app.slug } });
});

test.each([
  ["expired", () => jsonWebToken(at, { exp: nowS() - 1 }), "'Expiration time' claim"],
  ["living over ten minutes", () => jsonWebToken(at, { exp: nowS() + 700 }), "too far in the future"],
  ["issued in the future", () => jsonWebToken(at, { iat: nowS() + 120 }), "'Issued at' claim"],
  ["of another App", () => jsonWebToken(at, { iss: 7 }), "Integration not found"],
  ["of another algorithm", () => jsonWebToken(at, {}, { alg: "HS256" }), "could not be decoded"],
  ["signed by another key", () => signedByOther(), "could not be decoded"],
  ["not JSON", () => "a.b.c", "could not be decoded"],
])("refuses a JSON web token that is %s", async (_, token, message) => {
  const reply = await caller(at, token())("GET", "/app");

  expect(reply.status).toBe(401);
  expect(reply.body).toMatchObject({ message: expect.stringContaining(message) });
});

function signedByOther(): string {
  const [head, body] = jsonWebToken(at).split(".");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return `${head}.${body}.${sign("sha256", Buffer.from(`${head}.${body}`), privateKey).toString("base64url")}`;
}

test("an installation token is good for an hour and no longer", async () => {
  const token = await tokenFor(at);
  const send = caller(at, token);
  const start = at.nowMs();

  at.setTime(start + 59 * 60_000);
  const before = await send("GET", "/repos/ada/sample");
  at.setTime(start + 60 * 60_000);
  const after = await send("GET", "/repos/ada/sample");
  at.setTime(start);

  expect(before.status).toBe(200);
  expect(after).toMatchObject({ status: 401, body: { message: "Bad credentials" } });
});

test("a token for one repository doesn't show the other ones", async () => {
  const [one, other] = await Promise.all(
    ["sample", "second"].map((name) => caller(at, null)("GET", `/repos/ada/${name}`)),
  );
  const all = await caller(at, await tokenFor(at))("GET", "/installation/repositories");
  const ids = (all.body as { repositories: { id: number; name: string }[] }).repositories;
  const id = ids.find(({ name }) => name === "second")?.id ?? 0;
  const send = caller(at, await tokenFor(at, { repository_ids: [id] }));

  expect([one?.status, other?.status]).toEqual([404, 404]);
  expect((await send("GET", "/repos/ada/second")).status).toBe(200);
  expect((await send("GET", `/repositories/${id}`)).body).toMatchObject({ full_name: "ada/second" });
  expect((await send("GET", "/repos/ada/sample")).status).toBe(404);
  expect((await send("GET", "/repos/ada/apart")).status).toBe(404);
});

test("a token with fewer rights is refused what it may not do", async () => {
  const send = caller(at, await tokenFor(at, { permissions: { contents: "read" } }));

  const read = await send("GET", "/repos/ada/sample/branches/main");
  const write = await send("POST", "/repos/ada/sample/git/blobs", { content: "x" });
  const issues = await send("GET", "/repos/ada/sample/issues");

  expect(read.status).toBe(200);
  expect(write).toMatchObject({ status: 403, body: { message: "Resource not accessible by integration" } });
  expect(write.headers.get("x-accepted-github-permissions")).toBe(null);
  expect(issues.status).toBe(403);
});

test("no token is made for more than the installation has", async () => {
  await expect(tokenFor(at, { permissions: { workflows: "write" } })).rejects.toThrow("not granted");
  await expect(tokenFor(at, { repository_ids: [1] })).rejects.toThrow("not accessible to the parent installation");
});

test("tells apart what each kind of caller may use", async () => {
  const token = await tokenFor(at);

  expect((await caller(at, token)("GET", "/app")).status).toBe(401);
  expect((await caller(at, null)("GET", "/app")).status).toBe(401);
  expect((await caller(at, jsonWebToken(at))("GET", "/repos/ada/sample")).status).toBe(401);
  expect((await caller(at, "ghs_unknown")("GET", "/rate_limit")).status).toBe(401);
  expect((await caller(at, null)("GET", "/users/ada")).status).toBe(200);
});

test("a suspended installation gives and takes no token", async ({ signal: stop }) => {
  const own = await openGithub(stop);
  const token = await tokenFor(own);
  own.github.suspend(own.github.installationId("ada/sample"));

  expect(await caller(own, token)("GET", "/repos/ada/sample")).toMatchObject({
    status: 403,
    body: { message: "This installation has been suspended" },
  });
  await expect(tokenFor(own)).rejects.toThrow("suspended");
  await own[Symbol.asyncDispose]();
});
