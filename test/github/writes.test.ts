import { describe, expect, it } from "vitest";
import { type GithubWrite, githubWrites, readMarker } from "../../src/github/index.ts";
import { botUserId, markerKey, mockGithub, place } from "../support/github-mock.ts";
import { actionId, comment, marker, pullRequest, push, ref, refPath, repository, runId, sha } from "./samples.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const since = "2026-03-01T10:00:00Z";
const ok = (body: unknown) => ({ status: 200, body });
const created = (body: unknown) => ({ status: 201, body });
const stranger = { user: { id: 66, login: "stranger", type: "User" } };
const sent = (method: string) => mock.asked.filter((asked) => asked.method === method);
const bodySent = (): string => String(sent("POST").concat(sent("PATCH"))[0]?.body["body"]);
const later = "0190a1b2-0000-7000-8000-000000000001" as typeof actionId;

describe("create_comment", () => {
  const write: GithubWrite = { tool: "create_comment", actionId, issue: 1, body: "Working on it." };

  it("appends the marker as the last line and tells the comment's id", async () => {
    mock.replyInRepository("POST", "/issues/1/comments", created(comment("x")));

    const outcome = await mock.writer().write(write, never);

    expect(outcome).toMatchObject({ kind: "applied", result: { comment_id: 501 } });
    expect(bodySent()).toBe(`Working on it.\n\n${marker(actionId)}`);
  });

  it("never sends more than GitHub takes, marker included", async () => {
    mock.replyInRepository("POST", "/issues/1/comments", created(comment("x")));

    await mock.writer().write({ ...write, body: "😀".repeat(20_000) }, never);

    expect(Buffer.byteLength(bodySent())).toBeLessThan(65_536);
    expect(readMarker(markerKey, place.repositoryId, bodySent())?.first.id).toBe(actionId);
  });

  it("is found by our App as author and the marker, with room for clocks that differ", async () => {
    mock.replyInRepository(
      "GET",
      "/issues/1/comments?since=2026-03-01T09:50:00.000Z&per_page=100&page=1",
      ok([comment("hello", { id: 1 }), comment(`b\n\n${marker(actionId)}`)]),
    );

    expect(await mock.writer().look(write, since, never)).toMatchObject({
      kind: "applied",
      result: { comment_id: 501, url: expect.stringContaining("issuecomment-501") },
    });
  });

  it("is looked for with what was read, when, and by which requests on record (AUD-10, AUD-65)", async () => {
    mock.replyInRepository("GET", "/issues/1/comments", ok([]), ok([]));

    const { evidence } = await mock.writer().look(write, since, never);

    const read = { request: "GET /repositories/{repository_id}/issues/{issue_number}/comments", request_id: "AB:1" };
    expect(evidence).toMatchObject({
      looks: [
        { issue: 1, comments: 0, at: "2026-03-01T10:00:00.000Z", reads: [read], readCount: 1 },
        { issue: 1, comments: 0, at: "2026-03-01T10:00:05.000Z", reads: [read], readCount: 1 },
      ],
    });
  });

  it.each([
    ["of somebody else with a copied marker", `b\n\n${marker(actionId)}`, stranger],
    ["of a gone account", `b\n\n${marker(actionId)}`, { user: null }],
    ["of ours for another action", `b\n\n${marker(later)}`, {}],
    ["of ours that quotes the marker", `> ${marker(actionId)}\n\nsome words`, {}],
    ["of ours with a forged marker", `b\n\n<!-- countersign:${actionId}:${"0".repeat(32)} -->`, {}],
  ])("is not taken for a comment %s", async (_name, body, more) => {
    const listed = ok([comment(body, more)]);
    mock.replyInRepository("GET", "/issues/1/comments", listed, listed);

    expect((await mock.writer().look(write, since, never)).kind).toBe("not_applied");
  });
});

describe("looking through a list that ended at its cap", () => {
  const more = { link: '<https://github.example.test/?page=2>; rel="next"' };
  const pages = (body: readonly object[]) => Array.from({ length: 30 }, () => ({ ...ok(body), headers: more }));

  it("leaves it open whether a comment was written", async () => {
    mock.replyInRepository("GET", "/issues/1/comments", ...pages([comment("hello")]));
    const write: GithubWrite = { tool: "create_comment", actionId, issue: 1, body: "b" };

    expect((await mock.writer().look(write, since, never)).kind).toBe("inconclusive");
  });

  it("leaves it open whether a reaction was made", async () => {
    mock.replyInRepository("GET", "/issues/1/reactions", ...pages([{ id: 3, content: "eyes", ...stranger }]));
    const write: GithubWrite = { tool: "add_reaction", target: { kind: "issue", issue: 1 }, content: "eyes" };

    expect((await mock.writer().look(write, since, never)).kind).toBe("inconclusive");
  });

  it("leaves it open whether a pull request was opened", async () => {
    const head = { ref: push.branch, sha: sha("e"), repo: { id: 77 } };
    mock.replyInRepository("GET", "", ok(repository));
    mock.replyInRepository("GET", "/pulls", ...pages([pullRequest("a fork's", { head })]));
    const open = { tool: "open_pull_request", actionId, branch: push.branch, base: "main", draft: true } as const;

    expect((await mock.writer().look({ ...open, title: "t", body: "b" }, since, never)).kind).toBe("inconclusive");
  });
});

describe("update_comment", () => {
  const write: GithubWrite = {
    tool: "update_comment",
    actionId: later,
    issue: 1,
    comment: 501,
    body: "Done.",
    revision: 2,
  };
  const expected = `Done.\n\n${marker(actionId)}\n${marker(later, 2)}`;

  it("keeps the marker of the writing, so that the comment is still found by it", async () => {
    mock.replyInRepository("GET", "/issues/comments/501", ok(comment(`b\n\n${marker(actionId)}\n${marker(later, 1)}`)));
    mock.replyInRepository("PATCH", "/issues/comments/501", ok(comment(expected)));

    expect((await mock.writer().write(write, never)).kind).toBe("applied");
    expect(bodySent()).toBe(expected);
  });

  it.each([
    ["of somebody else", `b\n\n${marker(actionId)}`, stranger, "GITHUB_NOT_OURS"],
    ["of ours without a marker", "b", {}, "GITHUB_NOT_OURS"],
    ["of ours with a newer edit", `b\n\n${marker(actionId)}\n${marker(later, 3)}`, {}, "GITHUB_INVALID"],
  ])("leaves a comment %s as it is", async (_name, body, more, code) => {
    mock.replyInRepository("GET", "/issues/comments/501", ok(comment(body, more)));

    expect(await mock.writer().write(write, never)).toMatchObject({ kind: "not_applied", error: { code } });
  });

  it.each([
    ["applied", expected.replaceAll("\n", "\r\n")],
    ["not_applied", `b\n\n${marker(actionId)}\n${marker(later, 1)}`],
    ["not_applied", `b\n\n${marker(actionId)}`],
    ["inconclusive", `Other words.\n\n${marker(actionId)}\n${marker(later, 2)}`],
    ["inconclusive", "someone rewrote all of it"],
  ])("is %s where the comment reads as it does", async (kind, body) => {
    const present = ok(comment(body));
    mock.replyInRepository("GET", "/issues/comments/501", ...(kind === "not_applied" ? [present, present] : [present]));

    expect((await mock.writer().look(write, since, never)).kind).toBe(kind);
  });
});

describe("open_pull_request", () => {
  const write: GithubWrite = {
    tool: "open_pull_request",
    actionId,
    branch: push.branch,
    base: "main",
    title: "Fix it",
    body: "Facts.",
    draft: true,
  };
  const own = `Facts.\n\n${marker(actionId)}`;
  const exists = {
    status: 422,
    body: { message: "Validation Failed", errors: [{ message: "A pull request already exists for octo:x." }] },
  };
  const answerList = (...listed: readonly object[]): void => {
    mock.replyInRepository("GET", "", ok(repository));
    mock.replyInRepository("GET", "/pulls", ok(listed));
  };

  it("opens it and tells what GitHub says of it afterwards", async () => {
    mock.replyInRepository("POST", "/pulls", created(pullRequest(own, { changed_files: undefined })));
    mock.replyInRepository("GET", "/pulls/12", ok(pullRequest(own, { draft: true })));

    const outcome = await mock.writer().write(write, never);

    expect(sent("POST")[0]?.body).toEqual({ title: "Fix it", head: push.branch, base: "main", body: own, draft: true });
    expect(outcome).toMatchObject({
      kind: "applied",
      result: { pull_request: 12, head_sha: sha("e"), draft: true, files: 3, confirmed: true },
    });
  });

  it("calls it not confirmed where it can't be read back", async () => {
    mock.replyInRepository("POST", "/pulls", created(pullRequest(own)));
    mock.replyInRepository("GET", "/pulls/12", { status: 404, body: {} });

    expect(await mock.writer().write(write, never)).toMatchObject({ kind: "applied", result: { confirmed: false } });
  });

  it("adopts one that our App opened for this head, of any state", async () => {
    mock.replyInRepository("POST", "/pulls", exists);
    answerList(pullRequest("someone's", stranger), pullRequest(own, { state: "closed" }));
    mock.replyInRepository("GET", "/pulls/12", ok(pullRequest(own, { state: "closed" })));

    expect(await mock.writer().write(write, never)).toMatchObject({ kind: "applied", result: { open: false } });
  });

  it.each([
    ["by somebody else with a copied marker", own, stranger],
    ["by our App without a marker", "Facts.", {}],
  ])("never adopts one opened %s", async (_name, body, more) => {
    mock.replyInRepository("POST", "/pulls", exists);
    answerList(pullRequest(body, more));

    expect(await mock.writer().write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_NOT_OURS" },
    });
  });

  it.each([
    ["No commits between main and x", "no_commits"],
    ["Draft pull requests are not supported in this repository.", "drafts_unsupported"],
  ])("tells why GitHub refuses: %s", async (message, reason) => {
    mock.replyInRepository("POST", "/pulls", {
      status: 422,
      body: { message: "Validation Failed", errors: [{ message }] },
    });

    expect(await mock.writer().write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_INVALID", details: { reason } },
    });
  });

  it("is found by its head after a lost answer", async () => {
    answerList(pullRequest(own));
    mock.replyInRepository("GET", "/pulls/12", ok(pullRequest(own)));

    expect(await mock.writer().look(write, since, never)).toMatchObject({
      kind: "applied",
      result: { pull_request: 12 },
    });
  });

  it("is not applied where the head has none, inconclusive where it has a stranger's", async () => {
    answerList();
    answerList();
    answerList(pullRequest(own, stranger));
    const writer = mock.writer();

    expect((await writer.look(write, since, never)).kind).toBe("not_applied");
    expect((await writer.look(write, since, never)).kind).toBe("inconclusive");
  });
});

describe("update_pull_request", () => {
  const write: GithubWrite = {
    tool: "update_pull_request",
    actionId: later,
    pullRequest: 12,
    title: "Fix all of it",
    draft: false,
    revision: 1,
  };
  const before = pullRequest(`Facts.\n\n${marker(actionId)}`, { draft: true });
  const afterwards = `Facts.\n\n${marker(actionId)}\n${marker(later, 1)}`;

  it("makes a draft ready by GraphQL, then changes the rest and keeps what isn't named", async () => {
    mock.replyInRepository("GET", "/pulls/12", ok(before), ok(pullRequest(afterwards, { title: "Fix all of it" })));
    mock.replyBeside(
      "POST",
      "/graphql",
      ok({ data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } } }),
    );
    mock.replyInRepository("PATCH", "/pulls/12", ok(pullRequest(afterwards)));

    const outcome = await mock.writer().write(write, never);

    expect(sent("POST")[0]?.body).toMatchObject({ variables: { id: "PR_1" } });
    expect(sent("PATCH")[0]?.body).toEqual({ title: "Fix all of it", body: afterwards });
    expect(outcome).toMatchObject({ kind: "applied", result: { draft: false, confirmed: true } });
  });

  it("does not call it undone where the text is refused once the draft is ready (AUD-63)", async () => {
    mock.replyInRepository("GET", "/pulls/12", ok(before));
    const data = { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } };
    mock.replyBeside("POST", "/graphql", ok({ data }));
    mock.replyInRepository("PATCH", "/pulls/12", { status: 422, body: { message: "Validation Failed" } });

    expect(await mock.writer().write(write, never)).toMatchObject({
      kind: "unknown",
      error: { code: "GITHUB_INVALID" },
    });
  });

  it("leaves a pull request of somebody else as it is", async () => {
    mock.replyInRepository("GET", "/pulls/12", ok(pullRequest(afterwards, stranger)));

    expect(await mock.writer().write(write, never)).toMatchObject({ error: { code: "GITHUB_NOT_OURS" } });
  });

  it.each([
    ["applied", pullRequest(afterwards, { title: "Fix all of it" })],
    ["not_applied", before],
    ["inconclusive", pullRequest(afterwards, { title: "by hand" })],
    ["inconclusive", pullRequest(afterwards, { title: "Fix all of it", draft: true })],
    ["inconclusive", pullRequest("rewritten")],
  ])("is %s where it reads as it does", async (kind, present) => {
    const answer = ok(present);
    mock.replyInRepository("GET", "/pulls/12", ...(kind === "not_applied" ? [answer, answer] : [answer]));

    expect((await mock.writer().look(write, since, never)).kind).toBe(kind);
  });
});

describe("set_check_run", () => {
  const write: GithubWrite = {
    tool: "set_check_run",
    runId,
    headSha: sha("e"),
    status: "completed",
    conclusion: "success",
    title: "Verified",
    summary: "All good.",
    revision: 2,
  };
  const checkRun = (revision: number, more: object = {}) => ({
    id: 31,
    name: "Countersign",
    app: { id: 99 },
    external_id: runId,
    head_sha: sha("e"),
    status: "completed",
    conclusion: "success",
    output: { title: "Verified", summary: `All good.\n\n${marker(runId, revision)}` },
    html_url: null,
    ...more,
  });
  const listPath = `/commits/${sha("e")}/check-runs?check_name=Countersign&filter=all&per_page=100`;
  const list = (...runs: readonly object[]) => ok({ check_runs: runs });

  it("makes it where the commit has none of this run", async () => {
    mock.replyInRepository(
      "GET",
      listPath,
      list(checkRun(1, { external_id: "another" }), checkRun(1, { app: { id: 5 } })),
    );
    mock.replyInRepository("POST", "/check-runs", created(checkRun(2)));
    mock.replyInRepository("GET", "/check-runs/31", ok(checkRun(2)));

    const outcome = await mock.writer().write(write, never);

    expect(sent("POST")[0]?.body).toEqual({
      name: "Countersign",
      head_sha: sha("e"),
      external_id: runId,
      status: "completed",
      conclusion: "success",
      output: { title: "Verified", summary: `All good.\n\n${marker(runId, 2)}` },
    });
    expect(outcome).toMatchObject({ kind: "applied", result: { check_run_id: 31, confirmed: true } });
  });

  it("updates the run's own", async () => {
    mock.replyInRepository("GET", listPath, list(checkRun(1, { status: "in_progress", conclusion: null })));
    mock.replyInRepository("PATCH", "/check-runs/31", ok(checkRun(2)));
    mock.replyInRepository("GET", "/check-runs/31", ok(checkRun(2)));

    expect((await mock.writer().write(write, never)).kind).toBe("applied");
  });

  it("does not undo a newer one", async () => {
    mock.replyInRepository("GET", listPath, list(checkRun(3)));

    expect(await mock.writer().write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { details: { reason: "outdated" } },
    });
  });

  it.each([
    ["applied", [checkRun(2)]],
    ["not_applied", []],
    ["not_applied", [checkRun(1)]],
    ["inconclusive", [checkRun(2, { conclusion: "failure" })]],
    ["inconclusive", Array.from({ length: 100 }, () => checkRun(1, { external_id: "another" }))],
  ])("is %s where the commit's check runs are as they are", async (kind, runs) => {
    const answer = list(...runs);
    mock.replyInRepository("GET", listPath, ...(kind === "not_applied" ? [answer, answer] : [answer]));

    expect((await mock.writer().look(write, since, never)).kind).toBe(kind);
  });
});

describe("add_reaction", () => {
  const write: GithubWrite = { tool: "add_reaction", target: { kind: "issue_comment", comment: 5 }, content: "eyes" };
  const reaction = (user: object | null, content = "eyes") => ({ id: 3, content, user });

  it("reacts", async () => {
    mock.replyInRepository("POST", "/issues/comments/5/reactions", ok(reaction({ id: botUserId, login: "b" })));

    expect(await mock.writer().write(write, never)).toMatchObject({ kind: "applied", result: { reaction_id: 3 } });
    expect(sent("POST")[0]?.body).toEqual({ content: "eyes" });
  });

  it.each([
    ["applied", [reaction({ id: botUserId, login: "b" })]],
    ["not_applied", [reaction({ id: 66, login: "s" }), reaction(null)]],
    ["not_applied", [reaction({ id: botUserId, login: "b" }, "rocket")]],
  ])("is %s by its content and our user", async (kind, reactions) => {
    const answer = ok(reactions);
    mock.replyInRepository(
      "GET",
      "/issues/comments/5/reactions",
      ...(kind === "not_applied" ? [answer, answer] : [answer]),
    );

    expect((await mock.writer().look(write, since, never)).kind).toBe(kind);
  });
});

describe("labels", () => {
  const issue = (...labels: readonly string[]) =>
    ok({ id: 1, number: 1, state: "open", labels, title: "t", body: null, updated_at: since });
  const add: GithubWrite = { tool: "add_label", issue: 1, label: "a b" };
  const remove: GithubWrite = { tool: "remove_label", issue: 1, label: "a b" };

  it("are added and removed", async () => {
    mock.replyInRepository("POST", "/issues/1/labels", ok([{ name: "a b" }]));
    mock.replyInRepository("DELETE", "/issues/1/labels/a%20b", ok([]));
    const writer = mock.writer();

    expect(await writer.write(add, never)).toMatchObject({ kind: "applied", result: { on: true } });
    expect(await writer.write(remove, never)).toMatchObject({ kind: "applied", result: { on: false } });
  });

  it("that are absent count as removed", async () => {
    mock.replyInRepository("DELETE", "/issues/1/labels/a%20b", {
      status: 404,
      body: { message: "Label does not exist" },
    });
    mock.replyInRepository("GET", "/issues/1", issue("other"));

    expect((await mock.writer().write(remove, never)).kind).toBe("applied");
  });

  it("of an issue that we can't see are not removed", async () => {
    mock.replyInRepository("DELETE", "/issues/1/labels/a%20b", { status: 404, body: {} });
    mock.replyInRepository("GET", "/issues/1", { status: 404, body: {} });

    expect(await mock.writer().write(remove, never)).toMatchObject({ error: { code: "GITHUB_NOT_FOUND" } });
  });

  it("are looked for in the issue's set", async () => {
    const [on, off] = [issue("a b"), issue()];
    mock.replyInRepository("GET", "/issues/1", on, off, off, off, on, on);
    const writer = mock.writer();

    expect((await writer.look(add, since, never)).kind).toBe("applied");
    expect((await writer.look(add, since, never)).kind).toBe("not_applied");
    expect((await writer.look(remove, since, never)).kind).toBe("applied");
    expect((await writer.look(remove, since, never)).kind).toBe("not_applied");
  });
});

describe("delete_branch", () => {
  const write: GithubWrite = { tool: "delete_branch", branch: push.branch, expectedSha: sha("e") };
  const absent = { status: 404, body: {} };

  it("deletes the branch at the expected commit only", async () => {
    mock.replyInRepository("GET", refPath, ok(ref(sha("e"))), ok(ref(sha("1"))), absent);
    mock.replyInRepository("DELETE", refPath.replace("/ref/", "/refs/"), { status: 204 });
    const writer = mock.writer();

    expect((await writer.write(write, never)).kind).toBe("applied");
    expect(await writer.write(write, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_BRANCH_TAKEN" },
    });
    expect((await writer.write(write, never)).kind).toBe("applied");
  });

  it("counts a branch that vanished meanwhile as deleted", async () => {
    mock.replyInRepository("GET", refPath, ok(ref(sha("e"))), absent);
    const gone = { status: 422, body: { message: "Reference does not exist" } };
    mock.replyInRepository("DELETE", refPath.replace("/ref/", "/refs/"), gone);

    expect((await mock.writer().write(write, never)).kind).toBe("applied");
  });

  it("is looked for by the ref", async () => {
    mock.replyInRepository("GET", refPath, absent, ok(ref(sha("e"))), ok(ref(sha("e"))), ok(ref(sha("1"))));
    const writer = mock.writer();

    expect((await writer.look(write, since, never)).kind).toBe("applied");
    expect((await writer.look(write, since, never)).kind).toBe("not_applied");
    expect((await writer.look(write, since, never)).kind).toBe("inconclusive");
  });
});

it("every write has a natural key, a precondition and a recipe (AUD-61)", () => {
  for (const [tool, row] of Object.entries(githubWrites)) {
    expect(row.precondition, tool).not.toBe("");
    expect(row.recipe, tool).not.toBe("");
  }
  expect(githubWrites.push_commit.naturalKey(push)).toBe(`ref heads/${push.branch} from absent`);
  expect(
    githubWrites.update_comment.naturalKey({
      tool: "update_comment",
      actionId,
      issue: 1,
      comment: 5,
      body: "",
      revision: 3,
    }),
  ).toBe("comment 5 revision 3");
});
