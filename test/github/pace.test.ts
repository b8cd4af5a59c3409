import { expect, it } from "vitest";
import type { GithubWrite } from "../../src/github/index.ts";
import { createPace } from "../../src/github/pace.ts";
import { mockGithub, place } from "../support/github-mock.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const write: GithubWrite = { tool: "add_label", issue: 1, label: "x" };
const done = { status: 200, body: [{ name: "x" }] };
const replies = (count: number) => Array.from({ length: count }, () => done);

it("sends at most one content-making request a second", async () => {
  mock.replyInRepository("POST", "/issues/1/labels", ...replies(3));
  const writer = mock.writer({ writeIntervalMs: 1000 });

  for (let count = 0; count < 2; count += 1) await writer.write(write, never);
  mock.pass(400);
  await writer.write(write, never);

  expect(mock.waits).toEqual([1000, 600]);
});

it("keeps the pace of an installation over its repositories and writers at once, and no other's", async () => {
  const neighbour = { ...place, repositoryId: 43 };
  mock.replyInRepository("POST", "/issues/1/labels", done);
  mock.reply("POST", "/repositories/43/issues/1/labels", done);
  mock.reply("POST", "/repositories/42/issues/2/labels", done);
  mock.reply("POST", "/app/installations/8/access_tokens", {
    status: 201,
    body: { token: "other", expires_at: "2026-03-01T11:00:00Z" },
  });
  const github = mock.github({ writeIntervalMs: 1000 });

  await github.writer(place).write(write, never);
  await github.writer({ ...place, installationId: 8 }).write({ ...write, issue: 2 }, never);
  expect(mock.waits).toEqual([]);
  await github.writer(neighbour).write(write, never);
  expect(mock.waits).toEqual([1000]);
});

it("sends at most 80 a minute", async () => {
  mock.replyInRepository("POST", "/issues/1/labels", ...replies(81));
  const writer = mock.writer({ writeIntervalMs: 1 });
  const startedAt = mock.now();

  for (let count = 0; count < 80; count += 1) await writer.write(write, never);
  expect(mock.now() - startedAt).toBe(79);
  await writer.write(write, never);
  expect(mock.now() - startedAt).toBe(60_000);
});

it("sends at most 500 an hour", async () => {
  mock.replyInRepository("POST", "/issues/1/labels", ...replies(501));
  const writer = mock.writer({ writeIntervalMs: 1000 });
  const startedAt = mock.now();

  for (let count = 0; count < 501; count += 1) await writer.write(write, never);

  expect(mock.now() - startedAt).toBe(3_600_000);
});

it("has no pace where none is asked for", async () => {
  mock.replyInRepository("POST", "/issues/1/labels", ...replies(3));
  const writer = mock.writer({ writeIntervalMs: 0 });

  for (let count = 0; count < 3; count += 1) await writer.write(write, never);

  expect(mock.waits).toEqual([]);
});

it("waits a minute and then twice as long after limits that say nothing, until a request goes through", async () => {
  const limited = { status: 403, body: { message: "You have exceeded a secondary rate limit" } };
  mock.replyInRepository("POST", "/issues/1/labels", limited, limited, done, limited, done);
  const writer = mock.writer();

  for (let count = 0; count < 5; count += 1) await writer.write(write, never);

  expect(mock.waits).toEqual([60_000, 120_000, 60_000]);
});

it("keeps those who wait for their turn from sending into a limit that was met meanwhile", async () => {
  let now = 0;
  const wakes: { readonly at: number; readonly wake: () => void }[] = [];
  const delay = (waitMs: number): Promise<void> =>
    new Promise((wake) => {
      wakes.push({ at: now + waitMs, wake });
    });
  const pace = createPace({ clock: () => now, delay }, 1_000);
  const sentAt: number[] = [];
  const taking = [1, 2, 3].map(() => pace.take(7, never).then(() => sentAt.push(now)));
  await new Promise(setImmediate);
  pace.hold(7, 20_000);
  while (wakes.length > 0) {
    const next = wakes.toSorted((one, other) => one.at - other.at)[0];
    now = next?.at ?? now;
    wakes.splice(wakes.indexOf(next as (typeof wakes)[number]), 1);
    next?.wake();
    await new Promise(setImmediate);
  }
  await Promise.all(taking);

  expect(sentAt).toEqual([0, 20_000, 21_000]);
});

it.each([
  ["retry-after", { "retry-after": "1e300" }],
  ["x-ratelimit-reset", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999999" }],
])("waits little more than an hour, whatever `%s` says", async (_header, headers) => {
  const limited = { status: 403, headers, body: { message: "API rate limit exceeded" } };
  mock.replyInRepository("POST", "/issues/1/labels", limited, done);
  const writer = mock.writer();

  const outcome = await writer.write(write, never);
  await writer.write(write, never);

  expect(outcome).toMatchObject({ kind: "unknown", error: { code: "GITHUB_LIMITED" } });
  expect(mock.waits).toEqual([3_660_000]);
});
