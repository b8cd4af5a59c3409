import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, type Send, tokenFor } from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let send: Send;
let comments: string;
const route = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";

beforeEach(async ({ signal }) => {
  at = await openGithub(signal);
  send = caller(at, await tokenFor(at));
  const number = await at.github.openIssue("ada/sample", { title: "Broken", body: "It is.", by: "rita" });
  comments = `/repos/ada/sample/issues/${number}/comments`;
});
afterEach(() => at[Symbol.asyncDispose]());

const post = () => send("POST", comments, { body: "seen" });
const count = async (): Promise<number> => ((await send("GET", comments)).body as unknown[]).length;

test("only the request that was named fails, with the status and headers that were given", async () => {
  const headers = { "Retry-After": "7" };
  const fault = at.github.fault({
    route,
    nth: 2,
    fault: { kind: "answer", when: "before", status: 429, headers, body: { message: "slow down" } },
  });

  const replies = [await post(), await post(), await post()];

  expect(replies.map(({ status }) => status)).toEqual([201, 429, 201]);
  expect(replies[1]?.headers.get("retry-after")).toBe("7");
  expect(replies[1]?.body).toEqual({ message: "slow down" });
  expect(fault.count()).toBe(1);
  expect(await count()).toBe(2);
});

test("an answer after the effect leaves the effect", async () => {
  at.github.fault({ route, fault: { kind: "answer", when: "after", status: 502 } });

  expect((await post()).status).toBe(502);
  expect(await count()).toBe(1);
});

test.each([
  ["before", 0],
  ["after", 1],
] as const)("a connection cut %s the effect leaves %d comments", async (when, left) => {
  at.github.fault({ route, fault: { kind: "reset", when } });

  await expect(post()).rejects.toThrow("fetch failed");
  expect(await count()).toBe(left);
  expect(at.github.requests.filter((request) => request.route === route)).toMatchObject([
    { status: null, fault: "reset" },
  ]);
});

test.each([
  ["before", 0],
  ["after", 1],
] as const)(
  "a request that hangs %s the effect ends when its caller gives up, and leaves %d comments",
  async (when, left) => {
    const fault = at.github.fault({ route, fault: { kind: "hang", when } });
    const giveUp = new AbortController();
    const hanging = fetch(`${at.github.apiUrl}${comments}`, {
      method: "POST",
      headers: { "user-agent": "test", authorization: `Bearer ${await tokenFor(at)}` },
      body: JSON.stringify({ body: "seen" }),
      signal: giveUp.signal,
    });
    const refused = expect(hanging).rejects.toThrow();

    await fault.met;
    if (when === "after") await at.github.settled();
    const logged = async (): Promise<void> => {
      while (!at.github.requests.some((request) => request.fault === "hang")) await send("GET", "/rate_limit");
    };
    await logged();
    giveUp.abort();
    await refused;

    expect(await count()).toBe(left);
  },
);

test("a delayed request is taken up when it is let go", async () => {
  const gate = Promise.withResolvers<void>();
  const fault = at.github.fault({ route, fault: { kind: "delay", until: gate.promise } });
  const posting = post();

  await fault.met;
  const before = await count();
  gate.resolve();

  expect((await posting).status).toBe(201);
  expect([before, await count()]).toEqual([0, 1]);
});

test("an answer may be no JSON", async () => {
  at.github.fault({ route, fault: { kind: "broken_json" } });

  await expect(post()).rejects.toThrow(SyntaxError);
  expect(await count()).toBe(1);
});

test("a plan by function meets any route, as often as it says, until it is taken back", async () => {
  const seen: string[] = [];
  const plan = at.github.fault({
    route: (request) => seen.push(request.route) > 0,
    times: 2,
    fault: { kind: "answer", when: "before", status: 500 },
  });

  const statuses = [(await post()).status, (await post()).status, (await post()).status];
  plan.cancel();
  await post();

  expect(statuses).toEqual([500, 500, 201]);
  expect(seen).toEqual([route, route, route]);
});

test("git over HTTP fails as planned too", async () => {
  const token = await tokenFor(at);
  at.github.fault({
    route: "GET /{owner}/{repo}.git/info/refs",
    fault: { kind: "answer", when: "before", status: 503 },
  });
  const ask = () =>
    fetch(`${at.github.origin}/ada/sample.git/info/refs?service=git-upload-pack`, {
      headers: { authorization: `Bearer ${token}` },
    });

  expect((await ask()).status).toBe(503);
  expect((await ask()).status).toBe(200);
});
