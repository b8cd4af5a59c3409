import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { againstDescription, describedOperations } from "../../support/github-openapi.ts";
import {
  caller,
  type GithubForTest,
  jsonWebToken,
  openGithub,
  type Send,
  tokenFor,
} from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let send: Send;
const repository = "/repos/ada/sample";

beforeEach(async ({ signal }) => {
  at = await openGithub(signal);
  send = caller(at, await tokenFor(at));
});
afterEach(() => at[Symbol.asyncDispose]());

type Any = Readonly<Record<string, unknown>>;
const bodyOf = async (sent: ReturnType<Send>): Promise<Any> => (await sent).body as Any;
const id = async (sent: ReturnType<Send>): Promise<number> => (await bodyOf(sent))["id"] as number;
const sha = async (sent: ReturnType<Send>): Promise<string> => (await bodyOf(sent))["sha"] as string;

/** A commit with one new file on a branch of its own. */
async function publish(): Promise<{ readonly head: string; readonly tree: string; readonly blob: string }> {
  const main = await bodyOf(send("GET", `${repository}/branches/main`));
  const base = (main["commit"] as { sha: string }).sha;
  const blob = await sha(send("POST", `${repository}/git/blobs`, { content: "bmV3Cg==", encoding: "base64" }));
  const entry = { path: "docs/new.md", mode: "100644", type: "blob", sha: blob };
  const tree = await sha(send("POST", `${repository}/git/trees`, { base_tree: base, tree: [entry] }));
  const head = await sha(send("POST", `${repository}/git/commits`, { message: "Add a page", tree, parents: [base] }));
  await send("POST", `${repository}/git/refs`, { ref: "refs/heads/countersign/issue-1-abc", sha: head });
  return { head, tree, blob };
}

async function callAppOperations(): Promise<void> {
  const app = caller(at, jsonWebToken(at));
  const installation = at.github.installationId("ada/sample");
  await at.github.settled();
  const delivery = at.github.deliveries[0]?.id;
  await app("GET", "/app");
  await app("GET", "/app/installations");
  await app("GET", `/app/installations/${installation}`);
  await app("GET", `${repository}/installation`);
  await app("GET", "/app/hook/deliveries");
  await app("GET", `/app/hook/deliveries/${delivery}`);
  await app("POST", `/app/hook/deliveries/${delivery}/attempts`);
  await send("GET", "/installation/repositories");
  await send("GET", `/users/${encodeURIComponent(at.github.app.bot.login)}`);
  await send("GET", "/rate_limit");
}

async function callGitOperations(git: Awaited<ReturnType<typeof publish>>): Promise<void> {
  for (const path of [
    "",
    "/branches",
    "/branches/main",
    "/collaborators/rita/permission",
    "/compare/main...countersign/issue-1-abc",
    "/contents/src",
    "/contents/package.json",
    "/commits",
    `/commits/${git.head}`,
    `/git/blobs/${git.blob}`,
    `/git/trees/${git.tree}?recursive=1`,
    `/git/commits/${git.head}`,
    "/git/matching-refs/heads/",
    "/git/ref/heads/main",
  ])
    await send("GET", `${repository}${path}`);
  const temporary = "refs/heads/temporary";
  await send("POST", `${repository}/git/refs`, { ref: temporary, sha: git.head });
  await send("PATCH", `${repository}/git/${temporary}`, { sha: git.head, force: false });
  await send("DELETE", `${repository}/git/${temporary}`);
}

async function callIssueOperations(): Promise<number> {
  const issue = `${repository}/issues/1`;
  await send("POST", `${repository}/issues`, { title: "Another", body: "text", labels: ["bug"] });
  await send("POST", `${issue}/labels`, { labels: ["countersign"] });
  await send("POST", `${repository}/labels`, { name: "other" });
  await send("GET", `${repository}/labels`);
  await send("GET", `${repository}/labels/other`);
  const comment = await id(send("POST", `${issue}/comments`, { body: "seen" }));
  await send("PATCH", `${repository}/issues/comments/${comment}`, { body: "done" });
  for (const place of [issue, `${repository}/issues/comments/${comment}`]) {
    const reaction = await id(send("POST", `${place}/reactions`, { content: "eyes" }));
    await send("POST", `${place}/reactions`, { content: "eyes" });
    await send("GET", `${place}/reactions`);
    await send("DELETE", `${place}/reactions/${reaction}`);
  }
  for (const path of ["", "/labels", "/comments"]) await send("GET", `${issue}${path}`);
  await send("GET", `${repository}/issues?state=all`);
  await send("GET", `${repository}/issues/comments/${comment}`);
  await send("DELETE", `${issue}/labels/countersign`);
  await send("PATCH", issue, { title: "New title" });
  await send("DELETE", `${repository}/issues/comments/${comment}`);
  await send("PUT", `${issue}/lock`, { lock_reason: "resolved" });
  await send("DELETE", `${issue}/lock`);
  return comment;
}

async function callPullOperations(head: string): Promise<void> {
  const draft = { title: "Add a page", head: "countersign/issue-1-abc", base: "main", body: "Refs #1", draft: true };
  const number = (await bodyOf(send("POST", `${repository}/pulls`, draft)))["number"];
  const pull = `${repository}/pulls/${number}`;
  const review = await id(send("POST", `${pull}/reviews`, { body: "a remark", event: "COMMENT" }));
  const line = { body: "why?", path: "docs/new.md", line: 1, commit_id: head };
  const comment = await id(send("POST", `${pull}/comments`, line));
  await send("POST", `${pull}/comments/${comment}/replies`, { body: "because" });
  const reactions = `${repository}/pulls/comments/${comment}/reactions`;
  const reaction = await id(send("POST", reactions, { content: "rocket" }));
  await send("GET", reactions);
  await send("DELETE", `${reactions}/${reaction}`);
  await send("PATCH", pull, { title: "Another title" });
  for (const path of ["", "/files", "/commits", "/reviews", `/reviews/${review}`, "/comments"])
    await send("GET", `${pull}${path}`);
  await send("GET", `${repository}/pulls?head=ada:countersign/issue-1-abc&state=all`);
  await send("GET", `${repository}/pulls/comments/${comment}`);
}

async function callCheckOperations(head: string): Promise<void> {
  const run = { name: "Countersign", head_sha: head, status: "in_progress", external_id: "run-1" };
  const checkRun = await bodyOf(send("POST", `${repository}/check-runs`, run));
  const suite = (checkRun["check_suite"] as { id: number }).id;
  const path = `${repository}/check-runs/${checkRun["id"]}`;
  const output = { title: "Verified", summary: "all tests pass" };
  await send("PATCH", path, { status: "completed", conclusion: "success", output });
  await send("GET", path);
  await send("GET", `${repository}/commits/${head}/check-runs`);
  await send("GET", `${repository}/commits/${head}/check-suites`);
  await send("GET", `${repository}/check-suites/${suite}`);
  await send("GET", `${repository}/check-suites/${suite}/check-runs`);
}

test("every operation's request and answer are as GitHub's published description has them", async () => {
  await at.github.openIssue("ada/sample", { title: "Broken", body: "It fails.", by: "rita" });
  const git = await publish();
  await callAppOperations();
  await callGitOperations(git);
  await callIssueOperations();
  await callPullOperations(git.head);
  await callCheckOperations(git.head);

  const { requests } = at.github;

  expect(againstDescription(requests)).toEqual([]);
  expect(requests.filter(({ status }) => status === null || status >= 400)).toEqual([]);
  const called = new Set(requests.map(({ route }) => route));
  expect([...describedOperations].filter((operation) => !called.has(operation))).toEqual([]);
});

test("refusals are as GitHub's published description has them", async () => {
  const other = "0".repeat(40);
  await send("GET", `${repository}/issues/99`);
  await send("POST", `${repository}/issues/1/comments`, { body: "no such issue" });
  await send("POST", `${repository}/git/refs`, { ref: "refs/heads/main", sha: other });
  await send("POST", `${repository}/pulls`, { title: "t", head: "gone", base: "main" });
  await send("GET", `${repository}/branches/gone`);
  await send("GET", `${repository}/git/blobs/xyz`);
  await send("POST", `${repository}/git/trees`, { tree: [{ path: "../x", mode: "100644", sha: other }] });

  expect(at.github.requests.filter(({ status }) => status === 404 || status === 422)).toHaveLength(7);
  expect(againstDescription(at.github.requests)).toEqual([]);
});
