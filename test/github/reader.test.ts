import { describe, expect, it, vi } from "vitest";
import { mockGithub, place } from "../support/github-mock.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const sha = (digit: string): string => digit.repeat(40);

const repository = {
  id: 42,
  name: "renamed",
  full_name: "octo/renamed",
  owner: { login: "octo" },
  default_branch: "main",
  archived: false,
  disabled: false,
  fork: false,
  size: 120,
};

const pullRequest = (number: number, more: object = {}) => ({
  id: 1000 + number,
  number,
  state: "open",
  draft: false,
  title: "Fix #1",
  body: null,
  user: { id: 5, login: "octo" },
  head: { ref: "feature/テスト", sha: sha("a"), repo: { id: 42 } },
  base: { ref: "main", sha: sha("b") },
  html_url: `https://github.example.test/octo/renamed/pull/${number}`,
  ...more,
});

const comment = (id: number) => ({
  id,
  user: null,
  body: `number ${id}`,
  created_at: "2026-03-01T09:00:00Z",
  updated_at: "2026-03-01T09:00:00Z",
  html_url: `https://github.example.test/octo/renamed/issues/1#issuecomment-${id}`,
});

describe("a read", () => {
  it("addresses the repository by its number, with a token of this repository that only reads", async () => {
    mock.replyInRepository("GET", "", { status: 200, body: repository });

    const facts = await mock.reader().repository(never);

    expect(facts).toEqual({
      id: 42,
      owner: "octo",
      name: "renamed",
      fullName: "octo/renamed",
      defaultBranch: "main",
      isArchived: false,
      isDisabled: false,
      isFork: false,
      sizeKb: 120,
    });
    expect(mock.minted.map(({ body }) => body)).toEqual([
      {
        repository_ids: [place.repositoryId],
        permissions: { checks: "read", contents: "read", issues: "read", metadata: "read", pull_requests: "read" },
      },
    ]);
  });

  it("takes no other repository for the one asked for (SEC-4, SEC-113)", async () => {
    mock.replyInRepository("GET", "", { status: 200, body: { ...repository, id: 43 } });

    await expect(mock.reader().repository(never)).rejects.toMatchObject({ code: "GITHUB_NOT_FOUND" });
  });

  it("follows a redirect to the same host (SEC-113)", async () => {
    mock.replyInRepository("GET", "", {
      status: 301,
      headers: { location: "https://github.example.test/api/v3/repositories/42/moved?a={b}" },
    });
    mock.replyInRepository("GET", "/moved?a={b}", { status: 200, body: repository });

    expect((await mock.reader().repository(never)).fullName).toBe("octo/renamed");
  });

  it.each([
    "https://elsewhere.example.test/repositories/42",
    "http://github.example.test/api/v3/repositories/42",
    "//elsewhere.example.test/",
  ])("follows no redirect to %s (SEC-113)", async (location) => {
    const redirect = { status: 307, headers: { location } };
    mock.replyInRepository("GET", "", redirect, redirect, redirect);

    await expect(mock.reader().repository(never)).rejects.toMatchObject({ code: "GITHUB_ANSWER_UNREADABLE" });
  });

  it("takes a transferred issue as gone and does not follow it", async () => {
    const location = "https://github.example.test/api/v3/repositories/43/issues/9";
    mock.replyInRepository("GET", "/issues/3", { status: 301, headers: { location }, body: { message: "Moved" } });

    await expect(mock.reader().issue(3, never)).rejects.toMatchObject({ code: "GITHUB_GONE", retryable: false });
  });

  it("tells a branch's head, and null where there is no such branch", async () => {
    mock.replyInRepository("GET", "/git/ref/heads%2Ffeat%28a%29%2F%2312-%E3%83%86", {
      status: 200,
      body: { ref: "refs/heads/feat(a)/#12-テ", object: { sha: sha("a") } },
    });
    mock.replyInRepository("GET", "/git/ref/heads%2Fgone", { status: 404, body: { message: "Not Found" } });
    const reader = mock.reader();

    expect(await reader.branch("feat(a)/#12-テ", never)).toEqual({ sha: sha("a") });
    expect(await reader.branch("gone", never)).toBeNull();
  });

  it("tells an empty repository apart from a missing branch", async () => {
    mock.replyInRepository("GET", "/git/ref/heads%2Fmain", {
      status: 409,
      body: { message: "Git Repository is empty." },
    });

    await expect(mock.reader().branch("main", never)).rejects.toMatchObject({ code: "GITHUB_EMPTY" });
  });

  it("tells a commit with what GitHub verified", async () => {
    mock.replyInRepository("GET", `/git/commits/${sha("c")}`, {
      status: 200,
      body: {
        sha: sha("c"),
        tree: { sha: sha("d") },
        parents: [{ sha: sha("b") }],
        message: "Fix\n",
        verification: { verified: true, reason: "valid" },
      },
    });

    expect(await mock.reader().commit(sha("c"), never)).toEqual({
      sha: sha("c"),
      treeSha: sha("d"),
      parents: [sha("b")],
      message: "Fix\n",
      isVerified: true,
      verificationReason: "valid",
    });
  });

  it("compares two commits", async () => {
    mock.replyInRepository("GET", "/compare/main...head", {
      status: 200,
      body: { status: "diverged", ahead_by: 2, behind_by: 1, files: null },
    });

    expect(await mock.reader().compare("main", "head", never)).toEqual({ status: "diverged", aheadBy: 2, behindBy: 1 });
  });

  it("tells commits that share no history from commits that are not there", async () => {
    const unrelated = { status: 404, body: { message: "No common ancestor between main and head." } };
    mock.replyInRepository("GET", "/compare/main...head", unrelated, { status: 404, body: { message: "Not Found" } });

    expect(await mock.reader().compare("main", "head", never)).toEqual({ status: "diverged", aheadBy: 0, behindBy: 0 });
    await expect(mock.reader().compare("main", "head", never)).rejects.toMatchObject({ code: "GITHUB_NOT_FOUND" });
  });

  it("tells an issue, with null for an empty body and labels of both forms", async () => {
    mock.replyInRepository("GET", "/issues/1", {
      status: 200,
      body: {
        id: 11,
        number: 1,
        state: "open",
        locked: true,
        labels: ["bug", { name: "countersign" }, { name: null }],
        title: "wrong",
        body: null,
        updated_at: "2026-03-01T09:00:00Z",
      },
    });

    expect(await mock.reader().issue(1, never)).toMatchObject({
      isOpen: true,
      isLocked: true,
      isPullRequest: false,
      labels: ["bug", "countersign"],
      body: "",
    });
  });

  it.each([
    ["admin", "admin", "admin"],
    ["maintain", "write", "write"],
    ["a custom role", "write", "write"],
    ["triage", "read", "read"],
    ["none", "none", "none"],
  ])("tells what %s may do by `permission`, never by the role's name", async (role, permission, expected) => {
    mock.replyInRepository("GET", "/collaborators/octo/permission", {
      status: 200,
      headers: { "x-github-request-id": "F00D:1" },
      body: { permission, role_name: role, user: { id: 5, login: "octo" } },
    });

    expect(await mock.reader().permission("octo", never)).toEqual({
      permission: expected,
      userId: 5,
      requestId: "F00D:1",
    });
  });

  it("takes a permission without a user as unreadable", async () => {
    const answer = { status: 200, body: { permission: "admin", user: null } };
    mock.replyInRepository("GET", "/collaborators/octo/permission", answer, answer, answer);

    await expect(mock.reader().permission("octo", never)).rejects.toMatchObject({ code: "GITHUB_ANSWER_UNREADABLE" });
  });

  it("tells a pull request whose author and source repository are gone", async () => {
    mock.replyInRepository("GET", "/pulls/8", {
      status: 200,
      body: pullRequest(8, { user: null, head: { ref: "x", sha: sha("a"), repo: null }, changed_files: 3 }),
    });

    expect(await mock.reader().pullRequest(8, never)).toMatchObject({
      authorId: null,
      headRepositoryId: null,
      changedFiles: 3,
      body: "",
    });
  });

  it("finds pull requests by a head of this repository, never by a fork's of the same name", async () => {
    mock.replyInRepository("GET", "", { status: 200, body: repository });
    mock.replyInRepository("GET", "/pulls?head=octo:feature/テスト&state=all&per_page=100&page=1", {
      status: 200,
      body: [
        pullRequest(8, { state: "closed" }),
        pullRequest(9, { head: { ref: "feature/テスト", sha: sha("a"), repo: { id: 77 } } }),
      ],
    });

    const found = await mock.reader().pullRequestsByHead("feature/テスト", never);

    expect(found.items.map(({ number, isOpen }) => ({ number, isOpen }))).toEqual([{ number: 8, isOpen: false }]);
  });

  it("pages a list to its end, without following the addresses in it (SEC-113)", async () => {
    const link = { link: '<https://elsewhere.example.test/?page=2>; rel="next"' };
    const since = "since=2026-03-01T00:00:00Z";
    mock.replyInRepository("GET", `/issues/1/comments?${since}&per_page=100&page=1`, {
      status: 200,
      body: [comment(1), comment(2)],
      headers: link,
    });
    mock.replyInRepository("GET", `/issues/1/comments?${since}&per_page=100&page=2`, {
      status: 200,
      body: [comment(3)],
    });

    const { items, isComplete } = await mock.reader().comments(1, "2026-03-01T00:00:00Z", never);

    expect(items.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(isComplete).toBe(true);
  });

  it("says where its cap ended a list", async () => {
    const page = { status: 200, body: [comment(1)], headers: { link: '<https://x>; rel="next"' } };
    mock.replyInRepository("GET", "/issues/1/comments", ...Array.from({ length: 30 }, () => page));

    const { items, isComplete } = await mock.reader().comments(1, null, never);

    expect(items.length).toBe(30);
    expect(isComplete).toBe(false);
  });

  it("lists check runs and reactions", async () => {
    mock.replyInRepository("GET", `/commits/${sha("a")}/check-runs`, {
      status: 200,
      body: {
        total_count: 1,
        check_runs: [
          {
            id: 1,
            name: "ci",
            app: null,
            external_id: "",
            head_sha: sha("a"),
            status: "completed",
            conclusion: "success",
            output: { title: null, summary: null },
          },
        ],
      },
    });
    for (const path of ["/issues/1/reactions", "/issues/comments/2/reactions", "/pulls/comments/3/reactions"])
      mock.replyInRepository("GET", path, {
        status: 200,
        body: [{ id: 1, content: "eyes", user: { id: 5, login: "o" } }],
      });
    const reader = mock.reader();

    expect((await reader.checkRuns(sha("a"), never)).items).toMatchObject([{ name: "ci", appId: null }]);
    for (const target of [
      { kind: "issue", issue: 1 },
      { kind: "issue_comment", comment: 2 },
      { kind: "review_comment", comment: 3 },
    ] as const)
      expect((await reader.reactions(target, never)).items).toEqual([{ id: 1, content: "eyes", userId: 5 }]);
  });

  it("tells every request without anything of its content", async () => {
    mock.replyInRepository("GET", "", { status: 200, body: repository });

    await mock.reader().repository(never);

    expect(mock.lines.at(-1)).toEqual({
      method: "GET",
      route: "/repositories/{repository_id}",
      status: 200,
      requestId: "AB:1",
      durationMs: 0,
    });
  });
});

describe("a read that fails", () => {
  const good = { status: 200, body: repository };

  it.each([
    ["a server error", { status: 502, body: "<html>" }],
    ["a reset", "reset"],
    ["a refused connection", "refused"],
    ["an answer that is cut off", { status: 200, body: '{"id": 42, "na' }],
  ] as const)("is repeated after %s, twice at most", async (_name, failure) => {
    mock.replyInRepository("GET", "", failure, failure, good);
    expect((await mock.reader().repository(never)).id).toBe(42);

    mock.replyInRepository("GET", "", failure, failure, failure);
    await expect(mock.reader().repository(never)).rejects.toMatchObject({ retryable: true });
  });

  it("is repeated after a time without an answer", async () => {
    mock.replyInRepository("GET", "", "timeout", good);

    expect((await mock.reader().repository(never)).id).toBe(42);
  });

  it("waits for the reset of the primary limit, which is never taken for a missing permission", async () => {
    const reset = String(mock.now() / 1000 + 1800);
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset };
    mock.replyInRepository("GET", "", { status: 403, headers, body: { message: "API rate limit exceeded" } }, good);

    await mock.reader().repository(never);

    expect(mock.waits).toEqual([1_801_000]);
    expect(mock.waitingUntil).toEqual([Date.parse("2026-03-01T10:30:01Z")]);
  });

  it("waits as long as `Retry-After` says", async () => {
    mock.replyInRepository("GET", "", { status: 429, headers: { "retry-after": "17" }, body: {} }, good);

    await mock.reader().repository(never);

    expect(mock.waits).toEqual([17_000]);
  });

  it("waits a minute and then twice as long, five times, where the limit says nothing", async () => {
    const limited = { status: 403, body: { message: "You have exceeded a secondary rate limit." } };
    mock.replyInRepository("GET", "", limited, limited, limited, limited, limited, limited);

    await expect(mock.reader().repository(never)).rejects.toMatchObject({ code: "GITHUB_LIMITED", retryable: true });
    expect(mock.waits).toEqual([60_000, 120_000, 240_000, 480_000, 960_000]);
  });

  it("ends at once with the reason of its signal", async () => {
    const stopped = new AbortController();
    const reason = new Error("stopped by a person");
    stopped.abort(reason);

    await expect(mock.reader().repository(stopped.signal)).rejects.toBe(reason);
  });

  it("ends with the reason of its signal while it waits for the answer", async () => {
    const stopped = new AbortController();
    mock.replyInRepository("GET", "", "hang");
    const reading = mock.reader().repository(stopped.signal);
    const ended = expect(reading).rejects.toThrow("stopped by a person");
    await vi.waitFor(() => expect(mock.asked).toHaveLength(1));

    stopped.abort(new Error("stopped by a person"));

    await ended;
  });
});

describe("the errors of GitHub", () => {
  it.each([
    [403, "Resource not accessible by integration", "GITHUB_FORBIDDEN"],
    [403, "This installation has been suspended", "GITHUB_SUSPENDED"],
    [403, "Repository was archived so is read-only.", "GITHUB_ARCHIVED"],
    [403, "Unable to create comment because issue is locked.", "GITHUB_LOCKED"],
    [403, "GH013: Repository rule violations found for refs/heads/x", "GITHUB_RULE"],
    [422, "Repository rule violations found", "GITHUB_RULE"],
    [
      403,
      "refusing to allow a GitHub App to create or update workflow `x` without `workflows` permission",
      "GITHUB_RULE",
    ],
    [404, "Not Found", "GITHUB_NOT_FOUND"],
    [410, "This issue was deleted", "GITHUB_GONE"],
    [451, "Repository access blocked", "GITHUB_GONE"],
    [409, "Git Repository is empty.", "GITHUB_EMPTY"],
    [422, "Validation Failed", "GITHUB_INVALID"],
  ])("tell %i `%s` apart as %s", async (status, message, code) => {
    mock.replyInRepository("GET", "", { status, body: { message } });

    await expect(mock.reader().repository(never)).rejects.toMatchObject({
      code,
      details: { status, request_id: "AB:1" },
    });
  });

  it("carry nothing of the answer's text in their details", async () => {
    const message = "planted `word`\u001b[31m\nwith lines";
    mock.replyInRepository("GET", "", { status: 422, body: { message, errors: [{ message: "and more" }] } });

    const error = await mock
      .reader()
      .repository(never)
      .then(
        () => null,
        (thrown: Error & { details: unknown }) => thrown,
      );

    expect(JSON.stringify(error?.details)).not.toContain("planted");
    expect(error?.message).toMatch(/planted word \[31m with lines; and more$/);
  });
});
