import { describe, expect, it } from "vitest";
import type { GithubWrite } from "../../src/github/index.ts";
import { mockGithub, type Reply } from "../support/github-mock.ts";
import { actionId, comment, marker, pullRequest, push, ref, runId, sha } from "./samples.ts";

const mock = mockGithub();
const never = new AbortController().signal;

type Case = {
  readonly write: GithubWrite;
  /** The first request with an effect. */
  readonly request: readonly [method: string, path: string];
  readonly prepare?: () => void;
};

const cases: readonly Case[] = [
  { write: push, request: ["POST", "/git/blobs"] },
  {
    write: {
      tool: "open_pull_request",
      actionId,
      branch: push.branch,
      base: "main",
      title: "t",
      body: "b",
      draft: false,
    },
    request: ["POST", "/pulls"],
  },
  {
    write: { tool: "update_pull_request", actionId, pullRequest: 12, title: "t", revision: 1 },
    request: ["PATCH", "/pulls/12"],
    prepare: () =>
      mock.replyInRepository("GET", "/pulls/12", { status: 200, body: pullRequest(`b\n\n${marker(actionId)}`) }),
  },
  { write: { tool: "create_comment", actionId, issue: 1, body: "b" }, request: ["POST", "/issues/1/comments"] },
  {
    write: { tool: "update_comment", actionId, issue: 1, comment: 501, body: "b", revision: 1 },
    request: ["PATCH", "/issues/comments/501"],
    prepare: () =>
      mock.replyInRepository("GET", "/issues/comments/501", { status: 200, body: comment(`b\n\n${marker(actionId)}`) }),
  },
  {
    write: {
      tool: "set_check_run",
      runId,
      headSha: sha("e"),
      status: "completed",
      conclusion: "success",
      title: "t",
      summary: "s",
      revision: 1,
    },
    request: ["POST", "/check-runs"],
    prepare: () =>
      mock.replyInRepository("GET", `/commits/${sha("e")}/check-runs`, { status: 200, body: { check_runs: [] } }),
  },
  {
    write: { tool: "add_reaction", target: { kind: "issue", issue: 1 }, content: "eyes" },
    request: ["POST", "/issues/1/reactions"],
  },
  { write: { tool: "add_label", issue: 1, label: "x" }, request: ["POST", "/issues/1/labels"] },
  { write: { tool: "remove_label", issue: 1, label: "x" }, request: ["DELETE", "/issues/1/labels/x"] },
  {
    write: { tool: "delete_branch", branch: push.branch, expectedSha: sha("e") },
    request: ["DELETE", `/git/refs/${encodeURIComponent(`heads/${push.branch}`)}`],
    prepare: () =>
      mock.replyInRepository("GET", `/git/ref/${encodeURIComponent(`heads/${push.branch}`)}`, {
        status: 200,
        body: ref(sha("e")),
      }),
  },
];

const losses: readonly (readonly [string, Reply, string, string])[] = [
  ["500", { status: 500, body: {} }, "server_error", "GITHUB_UNAVAILABLE"],
  ["502", { status: 502, body: "<html>" }, "server_error", "GITHUB_UNAVAILABLE"],
  ["408", { status: 408, body: {} }, "server_error", "GITHUB_UNAVAILABLE"],
  ["409", { status: 409, body: { message: "Conflict" } }, "server_error", "GITHUB_INVALID"],
  ["429", { status: 429, body: {} }, "server_error", "GITHUB_LIMITED"],
  [
    "403 with retry-after",
    { status: 403, headers: { "retry-after": "9" }, body: {} },
    "server_error",
    "GITHUB_LIMITED",
  ],
  [
    "403 of a secondary limit",
    { status: 403, body: { message: "secondary rate limit" } },
    "server_error",
    "GITHUB_LIMITED",
  ],
  ["a reset", "reset", "reset", "GITHUB_UNAVAILABLE"],
  ["no answer in time", "timeout", "timeout", "GITHUB_UNAVAILABLE"],
];

const refusals: readonly (readonly [string, Reply, string])[] = [
  ["400", { status: 400, body: {} }, "GITHUB_INVALID"],
  ["403", { status: 403, body: { message: "Resource not accessible by integration" } }, "GITHUB_FORBIDDEN"],
  ["403 of a locked issue", { status: 403, body: { message: "issue is locked" } }, "GITHUB_LOCKED"],
  ["410", { status: 410, body: {} }, "GITHUB_GONE"],
  ["301", { status: 301, headers: { location: "/elsewhere" }, body: {} }, "GITHUB_GONE"],
  ["a refused connection", "refused", "GITHUB_UNAVAILABLE"],
];

const effects = (): number => mock.asked.filter(({ method }) => method !== "GET").length;

/** The classes of AUD-63, a row each; no library sends a second time (AUD-64). */
describe.each(cases)("$write.tool", ({ write, request: [method, path], prepare }) => {
  it.each(losses)("sends one request and does not know its effect after %s", async (_name, reply, cause, code) => {
    prepare?.();
    mock.replyInRepository(method, path, reply);

    const outcome = await mock.writer().write(write, never);

    expect(outcome).toMatchObject({ kind: "unknown", cause, error: { code } });
    expect(effects()).toBe(1);
  });

  it.each(refusals)("sends one request and knows that nothing was done after %s", async (_name, reply, code) => {
    prepare?.();
    mock.replyInRepository(method, path, reply);

    const outcome = await mock.writer().write(write, never);

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code } });
    expect(effects()).toBe(1);
  });
});

describe("a write", () => {
  const write: GithubWrite = { tool: "create_comment", actionId, issue: 1, body: "b" };

  it.each(['{"id": 5', "", '{"id": "five"}'])(
    "does not know its effect (AUD-63) after a success that reads `%s`",
    async (body) => {
      mock.replyInRepository("POST", "/issues/1/comments", { status: 201, body });

      const outcome = await mock.writer().write(write, never);

      expect(outcome).toMatchObject({ kind: "unknown", error: { code: "GITHUB_ANSWER_UNREADABLE" } });
      expect(effects()).toBe(1);
    },
  );

  it.each([
    "ENOTFOUND",
    "EAI_AGAIN",
    "UND_ERR_CONNECT_TIMEOUT",
    "CERT_HAS_EXPIRED",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ])("knows that nothing was sent after %s (AUD-63)", async (code) => {
    mock.replyInRepository("POST", "/issues/1/comments", { failure: code });

    expect(await mock.writer().write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_UNAVAILABLE", details: { reason: "not_sent" } },
    });
  });

  // The last three may come with a connection that stood: what was sent on it may have arrived (test/github/never-sent.test.ts).
  const ambiguous = ["EHOSTUNREACH", "ENETUNREACH", "ERR_SSL_WRONG_VERSION_NUMBER"];
  it.each(["EPIPE", "UND_ERR_SOCKET", "UND_ERR_BODY_TIMEOUT", "anything else", ...ambiguous])(
    "does not know its effect after %s",
    async (code) => {
      mock.replyInRepository("POST", "/issues/1/comments", { failure: code });

      expect(await mock.writer().write(write, never)).toMatchObject({ kind: "unknown", cause: "reset" });
    },
  );

  it("has 30 seconds to be answered, or as many as are set", async () => {
    mock.replyInRepository("POST", "/issues/1/comments", ...[1, 2].map(() => ({ status: 201, body: comment("b") })));

    await mock.writer().write(write, never);
    expect(new Set(mock.deadlines)).toEqual(new Set([30_000]));

    mock.deadlines.length = 0;
    await mock.writer({ requestTimeoutMs: 1_234 }).write(write, never);
    expect(new Set(mock.deadlines)).toEqual(new Set([1_234]));
  });

  it("is not sent after an abort", async () => {
    const outcome = await mock.writer().write(write, AbortSignal.abort(new Error("stopped")));

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code: "ABORTED" } });
    expect(effects()).toBe(0);
  });

  it("does not know its effect when it is aborted while it is sent", async () => {
    const stopped = new AbortController();
    mock.replyInRepository("POST", "/issues/1/comments", "hang");
    const writing = mock.writer().write(write, stopped.signal);
    await expect.poll(() => mock.asked.length).toBe(1);

    stopped.abort(new Error("stopped"));

    expect(await writing).toMatchObject({ kind: "unknown", cause: "reset" });
  });

  it("renews its token once after a 401, which did nothing", async () => {
    const refused = { status: 401, body: { message: "Bad credentials" } };
    const good = { status: 201, body: comment("b") };
    mock.replyInRepository("POST", "/issues/1/comments", refused, good, refused, refused);
    const writer = mock.writer();

    expect((await writer.write(write, never)).kind).toBe("applied");
    expect(mock.minted).toHaveLength(2);
    expect(mock.asked[0]?.authorization).not.toBe(mock.asked[1]?.authorization);
    expect(await writer.write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_UNAUTHORIZED" },
    });
  });

  it("holds the next request back until a limit is over", async () => {
    mock.replyInRepository(
      "POST",
      "/issues/1/comments",
      { status: 403, headers: { "retry-after": "30" }, body: {} },
      { status: 201, body: comment("b") },
    );
    const writer = mock.writer();

    await writer.write(write, never);
    expect((await writer.write(write, never)).kind).toBe("applied");

    expect(mock.waits).toEqual([30_000]);
    expect(mock.waitingUntil).toEqual([Date.parse("2026-03-01T10:00:30Z")]);
  });
});
