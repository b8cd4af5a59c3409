import { describe, expect, it } from "vitest";
import { mockGithub } from "../support/github-mock.ts";
import { blobSha, bytes, commit, fileChange, push, ref, refPath, sha } from "./samples.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const created = (body: unknown) => ({ status: 201, body });
const script = Buffer.from("#!/bin/sh\n");
const refsPath = `/git/refs/${encodeURIComponent(`heads/${push.branch}`)}`;

function answerObjects(): void {
  mock.replyInRepository("POST", "/git/blobs", created({ sha: blobSha(bytes) }), created({ sha: blobSha(script) }));
  mock.replyInRepository("POST", "/git/trees", created({ sha: sha("d") }));
  mock.replyInRepository("POST", "/git/commits", created(commit()));
}

function answerReadBack(head = sha("e")): void {
  mock.replyInRepository("GET", refPath, { status: 200, body: ref(head) });
}

describe("push_commit", () => {
  it("sends exact bytes, modes and deletions on the base tree, and a commit without author", async () => {
    answerObjects();
    mock.replyInRepository("POST", "/git/refs", created(ref(sha("e"))));
    answerReadBack();
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit() });

    const outcome = await mock.writer().write(push, never);

    expect(mock.asked.filter(({ method }) => method === "POST").map(({ body }) => body)).toEqual([
      { content: Buffer.from(bytes).toString("base64"), encoding: "base64" },
      { content: script.toString("base64"), encoding: "base64" },
      {
        base_tree: push.baseTreeSha,
        tree: [
          { path: "a.bin", mode: "100644", type: "blob", sha: blobSha(bytes) },
          { path: "run.sh", mode: "100755", type: "blob", sha: blobSha(script) },
          { path: "old.txt", mode: "100644", type: "blob", sha: null },
        ],
      },
      { message: push.message, tree: sha("d"), parents: [push.parentSha] },
      { ref: `refs/heads/${push.branch}`, sha: sha("e") },
    ]);
    expect(outcome).toMatchObject({
      kind: "applied",
      result: {
        commit_sha: sha("e"),
        tree_sha: sha("d"),
        branch: push.branch,
        verified: true,
        verification_reason: "valid",
        files: 3,
        confirmed: true,
      },
    });
    const steps = outcome.kind === "applied" ? outcome.evidence["steps"] : null;
    // Each request has its place on record, what was read back among them (AUD-10).
    const methods = ["POST", "POST", "POST", "POST", "POST", "GET", "GET"];
    expect(steps).toMatchObject(
      methods.map((method) => ({ request: expect.stringMatching(`^${method} /`), request_id: "AB:1" })),
    );
    expect(steps).toContainEqual({
      request: "POST /repositories/{repository_id}/git/refs",
      status: 201,
      request_id: "AB:1",
    });
  });

  it("uses a token that writes contents of this repository and nothing else (SEC-118)", async () => {
    answerObjects();
    mock.replyInRepository("POST", "/git/refs", created(ref(sha("e"))));
    answerReadBack();
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit() });

    await mock.writer().write(push, never);

    expect(mock.minted[0]?.body).toEqual({ repository_ids: [42], permissions: { contents: "write" } });
  });

  it("moves a branch without force (AT-32)", async () => {
    answerObjects();
    mock.replyInRepository("PATCH", refsPath, { status: 200, body: ref(sha("e")) });
    answerReadBack();
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit() });

    const outcome = await mock.writer().write({ ...push, expectedSha: push.parentSha }, never);

    expect(outcome.kind).toBe("applied");
    expect(mock.asked.find(({ method }) => method === "PATCH")?.body).toEqual({ sha: sha("e"), force: false });
  });

  it("stops before the ref where GitHub names other bytes than ours", async () => {
    mock.replyInRepository("POST", "/git/blobs", created({ sha: sha("0") }));

    const outcome = await mock.writer().write(push, never);

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code: "GITHUB_CONTENT_DIFFERS" } });
  });

  it("stops before the ref where GitHub's commit has another parent", async () => {
    mock.replyInRepository("POST", "/git/blobs", created({ sha: blobSha(bytes) }), created({ sha: blobSha(script) }));
    mock.replyInRepository("POST", "/git/trees", created({ sha: sha("d") }));
    mock.replyInRepository("POST", "/git/commits", created(commit({ parents: [] })));

    expect(await mock.writer().write(push, never)).toMatchObject({ error: { code: "GITHUB_CONTENT_DIFFERS" } });
  });

  it("calls a commit that it could not read back not confirmed", async () => {
    answerObjects();
    mock.replyInRepository("POST", "/git/refs", created(ref(sha("e"))));
    mock.replyInRepository("GET", refPath, { status: 404, body: {} });

    expect(await mock.writer().write(push, never)).toMatchObject({ kind: "applied", result: { confirmed: false } });
  });

  describe("to a branch that exists already", () => {
    const exists = { status: 422, body: { message: "Reference already exists" } };

    it.each([
      ["with our tree, parent and run is ours", {}, "applied"],
      ["with another tree is taken", { tree: { sha: sha("1") } }, "not_applied"],
      ["with another parent is taken", { parents: [{ sha: sha("1") }] }, "not_applied"],
      ["of another run is taken", { message: "Fix it\n\nCountersign-Run: 0" }, "not_applied"],
    ])("the commit %s", async (_name, differing, kind) => {
      answerObjects();
      mock.replyInRepository("POST", "/git/refs", exists);
      answerReadBack(sha("f"));
      const found = commit({ sha: sha("f"), ...differing });
      mock.replyInRepository("GET", `/git/commits/${sha("f")}`, { status: 200, body: found });

      const outcome = await mock.writer().write(push, never);

      expect(outcome.kind).toBe(kind);
      expect(outcome).toMatchObject(
        kind === "applied" ? { result: { commit_sha: sha("f") } } : { error: { code: "GITHUB_BRANCH_TAKEN" } },
      );
    });
  });

  it("names a rule that refuses the branch", async () => {
    answerObjects();
    const message = "Repository rule violations found\n\nCommits must have verified signatures.";
    mock.replyInRepository("POST", "/git/refs", { status: 422, body: { message } });

    const outcome = await mock.writer().write(push, never);

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code: "GITHUB_RULE" } });
    expect(outcome.kind === "not_applied" && outcome.error.message).toContain("must have verified signatures");
  });
});

describe("looking for a pushed commit", () => {
  const since = "2026-03-01T10:00:00Z";

  it("takes an absent branch as not applied after two reads five seconds apart (AUD-65)", async () => {
    const absent = { status: 404, body: { message: "Not Found" } };
    mock.replyInRepository("GET", refPath, absent, absent);

    expect((await mock.writer().look(push, since, never)).kind).toBe("not_applied");
    expect(mock.waits).toEqual([5000]);
  });

  it("finds a branch that shows up at the second read only", async () => {
    mock.replyInRepository("GET", refPath, { status: 404, body: {} }, { status: 200, body: ref(sha("e")) });
    answerOurTree();

    expect(await mock.writer().look(push, since, never)).toMatchObject({
      kind: "applied",
      result: { commit_sha: sha("e"), confirmed: true },
    });
  });

  it("takes the expected commit as not applied, and a branch that is gone as inconclusive", async () => {
    const moving = { ...push, expectedSha: push.parentSha };
    const same = { status: 200, body: ref(push.parentSha) };
    mock.replyInRepository("GET", refPath, same, same, { status: 404, body: {} });
    const writer = mock.writer();

    expect((await writer.look(moving, since, never)).kind).toBe("not_applied");
    expect((await writer.look(moving, since, never)).kind).toBe("inconclusive");
  });

  it.each([
    ["changes a file that we didn't", { path: "other.txt", mode: "100644", type: "blob", sha: sha("7") }],
    ["has a file more", { path: "more.txt", mode: "100644", type: "blob", sha: sha("7") }],
    ["lost the mode of ours", { path: "run.sh", mode: "100644", type: "blob", sha: blobSha(script) }],
    ["kept what we deleted", { path: "old.txt", mode: "100644", type: "blob", sha: sha("9") }],
  ])("is inconclusive where the tree %s", async (_name, entry) => {
    mock.replyInRepository("GET", refPath, { status: 200, body: ref(sha("e")) });
    answerOurTree(entry);

    expect((await mock.writer().look(push, since, never)).kind).toBe("inconclusive");
  });

  it.each([
    ["has another parent", { parents: [{ sha: sha("1") }] }],
    ["names another run", { message: "Fix it\n\nCountersign-Run: 0" }],
  ])("is inconclusive where the commit of our tree %s", async (_name, differing) => {
    mock.replyInRepository("GET", refPath, { status: 200, body: ref(sha("e")) });
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit(differing) });

    expect((await mock.writer().look(push, since, never)).kind).toBe("inconclusive");
  });

  it("compares folders only along the changed paths", async () => {
    const nested = { ...push, changes: [fileChange("src/deep/a.bin", bytes), fileChange("gone/last.txt", null)] };
    const folder = (path: string, to: string) => ({ path, mode: "040000", type: "tree", sha: to });
    const file = (path: string, to: string) => ({ path, mode: "100644", type: "blob", sha: to });
    mock.replyInRepository("GET", refPath, { status: 200, body: ref(sha("e")) });
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit() });
    answerTree(push.baseTreeSha, [folder("src", sha("1")), folder("gone", sha("2")), folder("other", sha("3"))]);
    answerTree(sha("d"), [folder("src", sha("4")), folder("other", sha("3"))]);
    answerTree(sha("1"), [file("b", sha("5"))]);
    answerTree(sha("4"), [file("b", sha("5")), folder("deep", sha("6"))]);
    answerTree(sha("6"), [file("a.bin", blobSha(bytes))]);
    answerTree(sha("2"), [file("last.txt", sha("9"))]);

    expect((await mock.writer().look(nested, since, never)).kind).toBe("applied");
  });

  it("is inconclusive where it can't read", async () => {
    mock.replyInRepository("GET", refPath, { status: 403, body: { message: "This installation has been suspended" } });

    const found = await mock.writer().look(push, since, never);

    expect(found).toMatchObject({ kind: "inconclusive", evidence: { looks: [{ code: "GITHUB_SUSPENDED" }] } });
  });

  function answerTree(of: string, tree: readonly object[]): void {
    mock.replyInRepository("GET", `/git/trees/${of}`, { status: 200, body: { sha: of, truncated: false, tree } });
  }

  function answerOurTree(differing?: { readonly path: string }): void {
    const file = (path: string, mode: string, to: string) => ({ path, mode, type: "blob", sha: to });
    const untouched = file("other.txt", "100644", sha("8"));
    const base = [file("a.bin", "100644", sha("9")), file("old.txt", "100644", sha("9")), untouched];
    const head = [file("a.bin", "100644", blobSha(bytes)), file("run.sh", "100755", blobSha(script)), untouched];
    mock.replyInRepository("GET", `/git/commits/${sha("e")}`, { status: 200, body: commit() });
    answerTree(push.baseTreeSha, base);
    const others = head.filter(({ path }) => path !== differing?.path);
    answerTree(sha("d"), differing === undefined ? head : [...others, differing]);
  }
});
