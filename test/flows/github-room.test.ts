import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Fault } from "../../src/demo/index.ts";
import { createRedactor, type FileChange, newActionId, newRunId, Secret } from "../../src/domain/index.ts";
import {
  type Github,
  type GithubWrite,
  type GithubWriter,
  openGithub as openRoom,
  type PushCommit,
  type RepositoryPlace,
} from "../../src/github/index.ts";
import { type GithubForTest, openGithub as openLocal } from "../support/local-github.ts";

const name = "ada/room";
const sample = new URL("../../src/demo/sample", import.meta.url).pathname;
const never = new AbortController().signal;
let at: GithubForTest;
let github: Github;
let place: RepositoryPlace;
let clockMs = 0;
const ids = { clock: () => clockMs, randomBytes: (count: number) => new Uint8Array(randomBytes(count)) };
const writer = (): GithubWriter => github.writer(place);
const sinceIso = (): string => new Date(clockMs).toISOString();

beforeAll(async () => {
  at = await openLocal(never);
  clockMs = at.nowMs();
  const source = { kind: "folder", folder: sample } as const;
  const { id } = await at.github.createRepository({ owner: "ada", name: "room", source }, never);
  at.github.addCollaborator(name, "wes", "maintain");
  place = { installationId: at.github.installationId(name), repositoryId: id };
  github = openRoom(
    {
      clock: () => clockMs,
      redactor: createRedactor([]),
      delay: async (waitMs) => {
        clockMs += waitMs;
        await Promise.resolve();
      },
    },
    {
      appId: at.github.app.id,
      privateKey: new Secret(at.github.app.privateKey),
      apiUrl: at.github.apiUrl,
      gitUrl: at.github.origin,
      markerKey: randomBytes(32),
      writeIntervalMs: 0,
    },
  );
});
afterAll(() => at[Symbol.asyncDispose]());

const openIssue = (): Promise<number> => at.github.openIssue(name, { title: "Wrong sum", body: null, by: "wes" });

function fileChange(path: string, content: string, mode: "100644" | "100755" = "100644"): FileChange {
  const bytes = Buffer.from(content);
  const blobSha = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  return { path, before: null, after: { mode, blobSha, content: bytes } };
}

async function newPush(): Promise<PushCommit> {
  const head = await github.reader(place).branch("main", never);
  const base = await github.reader(place).commit(head?.sha ?? "", never);
  const runId = newRunId(ids);
  return {
    tool: "push_commit",
    branch: `countersign/issue-1-${runId.slice(-8)}`,
    parentSha: base.sha,
    baseTreeSha: base.treeSha,
    expectedSha: null,
    message: `Fix it\n\nCountersign-Run: ${runId}`,
    runId,
    changes: [
      fileChange("docs/deep/note.md", `made by ${runId}\r\n`),
      fileChange("tool.sh", "#!/bin/sh\n", "100755"),
      { path: "package.json", before: { mode: "100644", blobSha: "0".repeat(40), sizeBytes: 1 }, after: null },
    ],
  };
}

async function applied(write: GithubWrite) {
  const outcome = await writer().write(write, never);
  if (outcome.kind !== "applied") throw outcome.error;
  return outcome.result;
}

describe("the room against the local GitHub", () => {
  it("reads repository, issue, permission and App", async () => {
    const issue = await openIssue();
    const reader = github.reader(place);

    expect(await reader.repository(never)).toMatchObject({ fullName: name, defaultBranch: "main", isArchived: false });
    expect(await reader.issue(issue, never)).toMatchObject({
      number: issue,
      isOpen: true,
      body: "",
      title: "Wrong sum",
    });
    expect((await reader.permission("wes", never)).permission).toBe("write");
    expect((await reader.permission("ada", never)).permission).toBe("admin");
    expect(await github.app(never)).toMatchObject({ id: at.github.app.id, botUserId: at.github.app.bot.id });
    expect((await github.installation(place.installationId, never)).permissions).toMatchObject({ checks: "write" });
  });

  it("publishes a commit, a check run and a draft that becomes ready, and cleans up", async () => {
    const push = await newPush();
    const pushed = await applied(push);
    expect(pushed).toMatchObject({ branch: push.branch, files: 3, confirmed: true });
    const head = String(pushed["commit_sha"]);
    expect(await at.github.read.file(name, push.branch, "docs/deep/note.md")).toBe(`made by ${push.runId}\r\n`);
    expect(await at.github.read.file(name, push.branch, "package.json")).toBeNull();
    expect(await github.reader(place).compare("main", head, never)).toEqual({
      status: "ahead",
      aheadBy: 1,
      behindBy: 0,
    });

    const check = { tool: "set_check_run", runId: push.runId, headSha: head, title: "t", summary: "s" } as const;
    const first = await applied({ ...check, status: "in_progress", conclusion: null, revision: 1 });
    const second = await applied({ ...check, status: "completed", conclusion: "success", revision: 2 });
    expect(second).toMatchObject({ check_run_id: first["check_run_id"], conclusion: "success", confirmed: true });

    const opened = await applied({
      tool: "open_pull_request",
      actionId: newActionId(ids),
      branch: push.branch,
      base: "main",
      title: "Fix it",
      body: "Facts.",
      draft: true,
    });
    expect(opened).toMatchObject({ head_sha: head, draft: true, files: 3, confirmed: true });
    const updated = await applied({
      tool: "update_pull_request",
      actionId: newActionId(ids),
      pullRequest: Number(opened["pull_request"]),
      title: "Fix all of it",
      draft: false,
      revision: 1,
    });
    expect(updated).toMatchObject({ draft: false, confirmed: true });

    await applied({ tool: "delete_branch", branch: push.branch, expectedSha: head });
    expect(await github.reader(place).branch(push.branch, never)).toBeNull();
  });

  it("comments, edits its comment, reacts and labels", async () => {
    const issue = await openIssue();
    const made = await applied({ tool: "create_comment", actionId: newActionId(ids), issue, body: "Working." });
    const comment = Number(made["comment_id"]);
    await applied({ tool: "update_comment", actionId: newActionId(ids), issue, comment, body: "Done.", revision: 1 });
    await applied({ tool: "add_reaction", target: { kind: "issue", issue }, content: "eyes" });
    await applied({ tool: "add_label", issue, label: "wip" });
    await applied({ tool: "remove_label", issue, label: "wip" });
    await applied({ tool: "remove_label", issue, label: "wip" });

    const { items } = await github.reader(place).comments(issue, null, never);
    expect(items.map(({ body }) => body.split("\n")[0])).toEqual(["Done."]);
  });

  it("moves its branch only from the commit that it expects", async () => {
    const push = await newPush();
    const first = await applied(push);
    const at1 = String(first["commit_sha"]);
    const next: PushCommit = { ...push, parentSha: at1, baseTreeSha: String(first["tree_sha"]), expectedSha: at1 };
    const changed = { ...next, changes: [fileChange("more.txt", "more\n")] };

    expect(await applied(changed)).toMatchObject({ confirmed: true });
    const stale = { ...changed, changes: [fileChange("other.txt", "other\n")] };
    expect(await writer().write(stale, never)).toMatchObject({
      kind: "not_applied",
      error: { code: "GITHUB_BRANCH_TAKEN" },
    });
  });

  it("names the rule of a protected branch", async () => {
    const push = await newPush();
    at.github.protectBranch(name, push.branch, "Commits must have verified signatures.");

    expect(await writer().write(push, never)).toMatchObject({ kind: "not_applied", error: { code: "GITHUB_RULE" } });
  });

  it("follows a rename and fetches by git with a header alone", async () => {
    at.github.rename(name, "renamed");
    const facts = await github.reader(place).repository(never);
    const access = await github.gitAccess(place, facts, never);
    at.github.rename("ada/renamed", "room");

    const environment = {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: "/nonexistent",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `http.${access.url}.extraHeader`,
      GIT_CONFIG_VALUE_0: access.authorization.reveal(),
    };
    const { stdout } = await promisify(execFile)("git", ["ls-remote", access.url, "HEAD"], { env: environment });
    expect(facts.fullName).toBe("ada/renamed");
    expect(stdout).toContain((await github.reader(place).branch("main", never))?.sha);
  });
});

const lostAfter: Fault = { kind: "reset", when: "after" };
const lostBefore: Fault = { kind: "answer", when: "before", status: 502 };

describe.each<{ readonly route: string; readonly make: () => Promise<GithubWrite> }>([
  { route: "POST /repos/{owner}/{repo}/git/refs", make: newPush },
  {
    route: "POST /repos/{owner}/{repo}/pulls",
    make: async () => {
      const push = await newPush();
      await applied(push);
      const words = { title: "Fix", body: "Facts.", draft: false };
      return { tool: "open_pull_request", actionId: newActionId(ids), branch: push.branch, base: "main", ...words };
    },
  },
  {
    route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
    make: async () => ({
      tool: "create_comment",
      actionId: newActionId(ids),
      issue: await openIssue(),
      body: "Hello.",
    }),
  },
  {
    route: "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
    make: async () => {
      const issue = await openIssue();
      const made = await applied({ tool: "create_comment", actionId: newActionId(ids), issue, body: "Hello." });
      const comment = Number(made["comment_id"]);
      return { tool: "update_comment", actionId: newActionId(ids), issue, comment, body: "Bye.", revision: 1 };
    },
  },
  {
    route: "POST /repos/{owner}/{repo}/check-runs",
    make: async () => {
      const head = await github.reader(place).branch("main", never);
      const words = { title: "t", summary: "s", status: "completed", conclusion: "neutral", revision: 1 } as const;
      return { tool: "set_check_run", runId: newRunId(ids), headSha: head?.sha ?? "", ...words };
    },
  },
  {
    route: "POST /repos/{owner}/{repo}/issues/{issue_number}/reactions",
    make: async () => ({ tool: "add_reaction", target: { kind: "issue", issue: await openIssue() }, content: "eyes" }),
  },
  {
    route: "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
    make: async () => ({ tool: "add_label", issue: await openIssue(), label: "seen" }),
  },
])("a lost answer to $route", ({ route, make }) => {
  it("is settled by looking: done where it was done", async () => {
    const write = await make();
    const fault = at.github.fault({ route, fault: lostAfter });

    expect(await writer().write(write, never)).toMatchObject({ kind: "unknown", cause: "reset" });
    expect((await writer().look(write, sinceIso(), never)).kind).toBe("applied");
    expect(fault.count()).toBe(1);
  });

  it("is settled by looking: not done where it wasn't, and then done by another sending", async () => {
    const write = await make();
    const fault = at.github.fault({ route, fault: lostBefore });

    expect(await writer().write(write, never)).toMatchObject({ kind: "unknown", cause: "server_error" });
    expect((await writer().look(write, sinceIso(), never)).kind).toBe("not_applied");
    expect((await writer().write(write, never)).kind).toBe("applied");
    expect((await writer().look(write, sinceIso(), never)).kind).toBe("applied");
    expect(fault.count()).toBe(1);
  });
});
