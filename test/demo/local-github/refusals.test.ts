import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, type Send, tokenFor } from "../../support/local-github.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let send: Send;
let head: string;
const repository = "/repos/ada/sample";
const stop = new AbortController().signal;

beforeAll(async () => {
  at = await openGithub(stop);
  send = caller(at, await tokenFor(at));
  head = ((await send("GET", `${repository}/git/ref/heads/main`)).body as { object: { sha: string } }).object.sha;
});
afterAll(() => at[Symbol.asyncDispose]());

const shaOf = async (path: string, body: object): Promise<string> =>
  ((await send("POST", `${repository}${path}`, body)).body as { sha: string }).sha;

async function commitWith(files: Readonly<Record<string, string>>, parent = head): Promise<string> {
  const entries = Object.entries(files).map(([path, content]) => ({ path, mode: "100644", type: "blob", content }));
  const tree = await shaOf("/git/trees", { base_tree: parent, tree: entries });
  return shaOf("/git/commits", { message: "A change", tree, parents: [parent] });
}

const createBranch = (name: string, sha: string) =>
  send("POST", `${repository}/git/refs`, { ref: `refs/heads/${name}`, sha });
const openIssue = (): Promise<number> =>
  at.github.openIssue("ada/sample", { title: "Broken", body: "It is.", by: "rita" });

test("a ref that exists is not made again", async () => {
  await createBranch("twice", head);

  expect(await createBranch("twice", head)).toMatchObject({
    status: 422,
    body: { message: "Reference already exists" },
  });
});

test.each([
  ["an unknown commit", { ref: "refs/heads/x", sha: "0".repeat(40) }, "Object does not exist"],
  ["a name that is no ref", { ref: "heads/x", sha: "HEAD" }, "Reference name must start with 'refs/'"],
  ["a name that git doesn't take", { ref: "refs/heads/a..b", sha: "HEAD" }, "valid ref name"],
  ["a sha that is none", { ref: "refs/heads/x", sha: "abc" }, "Invalid request"],
])("no ref is made for %s", async (_, body, message) => {
  const reply = await send("POST", `${repository}/git/refs`, body.sha === "HEAD" ? { ...body, sha: head } : body);

  expect(reply).toMatchObject({ status: 422, body: { message: expect.stringContaining(message) } });
});

test("a branch moves forward only, unless it is forced", async () => {
  const [one, other] = await Promise.all([commitWith({ "a.md": "1" }), commitWith({ "a.md": "2" })]);
  await createBranch("moving", one);
  const move = (sha: string, force: boolean) => send("PATCH", `${repository}/git/refs/heads/moving`, { sha, force });

  expect(await move(other, false)).toMatchObject({ status: 422, body: { message: "Update is not a fast forward" } });
  expect(await move(other, true)).toMatchObject({ status: 200, body: { object: { sha: other } } });
});

test("workflow files need a right that the App hasn't", async () => {
  const sha = await commitWith({ ".github/workflows/ci.yml": "on: push\n" });
  const reply = await createBranch("workflow", sha);

  expect(reply.status).toBe(403);
  expect(reply.body).toMatchObject({ message: expect.stringContaining("refusing to allow a GitHub App") });
  expect(await at.github.read.refs("ada/sample", "refs/heads/workflow")).toEqual([]);
});

test("a pull request needs commits, branches that are there, and no twin", async () => {
  await createBranch("same", head);
  await createBranch("changed", await commitWith({ "b.md": "b" }));
  const open = (branch: string) =>
    send("POST", `${repository}/pulls`, { title: "A title", head: branch, base: "main" });

  expect(await open("same")).toMatchObject({
    status: 422,
    body: { errors: [{ message: "No commits between main and same" }] },
  });
  expect(await open("missing")).toMatchObject({ status: 422, body: { errors: [{ field: "head" }] } });
  expect((await open("changed")).status).toBe(201);
  expect(await open("changed")).toMatchObject({
    status: 422,
    body: { errors: [{ message: "A pull request already exists for ada:changed." }] },
  });
});

test("a ruleset is named when a branch breaks it", async () => {
  at.github.protectBranch("ada/sample", "release/*", "Cannot create ref due to creations being restricted.");

  const reply = await createBranch("release/1", head);

  expect(reply.status).toBe(422);
  expect(JSON.stringify(reply.body)).toContain("GH013");
  expect(reply.body).toMatchObject({ message: expect.stringContaining("creations being restricted") });
});

test.each([
  ["a blob that is none", { path: "a", mode: "100644", sha: "0".repeat(40) }, "is not a valid blob"],
  ["a path that leaves the tree", { path: "a/../../b", mode: "100644", content: "" }, "malformed path"],
  ["git's own folder", { path: ".git/config", mode: "100644", content: "" }, "malformed path"],
  ["a file to remove that isn't there", { path: "none.md", mode: "100644", sha: null }, "BadObjectState"],
  ["an unknown mode", { path: "a", mode: "100600", content: "" }, "Invalid request"],
])("a tree is refused for %s", async (_, entry, message) => {
  const reply = await send("POST", `${repository}/git/trees`, { base_tree: head, tree: [entry] });

  expect(reply).toMatchObject({ status: 422, body: { message: expect.stringContaining(message) } });
});

test("a repository without commits is a conflict", async () => {
  await at.github.createRepository({ owner: "ada", name: "empty", source: { kind: "empty" } }, stop);
  const own = caller(at, await tokenFor(at));

  const replies = [
    await own("GET", "/repos/ada/empty/git/ref/heads/main"),
    await own("POST", "/repos/ada/empty/git/blobs", { content: "x" }),
  ];

  for (const reply of replies)
    expect(reply).toMatchObject({ status: 409, body: { message: "Git Repository is empty." } });
  expect((await own("GET", "/repos/ada/empty/branches/main")).status).toBe(404);
});

test("texts end at 65,536 characters, however many bytes those are", async () => {
  const number = await openIssue();
  const post = (body: string) => send("POST", `${repository}/issues/${number}/comments`, { body });

  expect((await post("😀".repeat(65_536))).status).toBe(201);
  expect(await post("a".repeat(65_537))).toMatchObject({
    status: 422,
    body: { errors: [{ message: "body is too long (maximum is 65536 characters)" }] },
  });
});

test("a locked conversation takes no comment and no reaction of the App, but labels", async () => {
  const number = await openIssue();
  await at.github.lock({ repository: "ada/sample", number }, "ada");
  const issue = `${repository}/issues/${number}`;

  expect((await send("POST", `${issue}/comments`, { body: "hello" })).status).toBe(403);
  expect((await send("POST", `${issue}/reactions`, { content: "eyes" })).status).toBe(403);
  expect((await send("POST", `${issue}/labels`, { labels: ["seen"] })).status).toBe(200);
});

test("a deleted issue is gone, a missing one isn't found", async () => {
  const number = await openIssue();
  await at.github.deleteIssue({ repository: "ada/sample", number }, "ada");

  expect((await send("GET", `${repository}/issues/${number}`)).status).toBe(410);
  expect((await send("POST", `${repository}/issues/${number}/comments`, { body: "x" })).status).toBe(410);
  expect((await send("GET", `${repository}/issues/9999`)).status).toBe(404);
});

test("a label that isn't on can't be taken off", async () => {
  const number = await openIssue();

  expect(await send("DELETE", `${repository}/issues/${number}/labels/countersign`)).toMatchObject({
    status: 404,
    body: { message: "Label does not exist" },
  });
});

test.each([
  ["archived", (is: boolean) => at.github.archive("ada/state", is), [200, 403]],
  ["disabled", (is: boolean) => at.github.disable("ada/state", is), [200, 403]],
  ["blocked", (is: boolean) => at.github.block("ada/state", is), [451, 451]],
])("a repository that is %s refuses", async (_, set, statuses) => {
  await at.github.createRepository({ owner: "ada", name: "state", source: { kind: "empty" } }, stop);
  const own = caller(at, await tokenFor(at));
  set(true);

  const read = await own("GET", "/repos/ada/state");
  const write = await own("POST", "/repos/ada/state/issues", { title: "x" });
  set(false);
  at.github.deleteRepository("ada/state");

  expect([read.status, write.status]).toEqual(statuses);
});

test("a former name leads to the repository's number, whoever asks for what", async () => {
  const { id } = await at.github.createRepository({ owner: "ada", name: "young", source: { kind: "empty" } }, stop);
  at.github.rename("ada/young", "grown");
  const own = caller(at, await tokenFor(at));

  const read = await own("GET", "/repos/ada/young/issues?state=all");
  const write = await own("POST", "/repos/ada/young/issues", { title: "x" });

  expect(read.status).toBe(301);
  expect(read.headers.get("location")).toBe(`${at.github.apiUrl}/repositories/${id}/issues?state=all`);
  expect(write.status).toBe(307);
  expect(await own("GET", `/repositories/${id}`)).toMatchObject({ status: 200, body: { full_name: "ada/grown" } });
});

test("a new repository under a former name is a stranger", async () => {
  const first = await at.github.createRepository({ owner: "ada", name: "taken", source: { kind: "empty" } }, stop);
  at.github.rename("ada/taken", "moved");
  const second = await at.github.createRepository({ owner: "ada", name: "taken", source: { kind: "empty" } }, stop);
  const own = caller(at, await tokenFor(at));

  expect((await own("GET", "/repos/ada/taken")).body).toMatchObject({ id: second.id });
  expect((await own("GET", `/repositories/${first.id}`)).body).toMatchObject({ full_name: "ada/moved" });
});

test("answers what can't be read, and what nobody knows", async () => {
  expect((await send("POST", `${repository}/git/blobs`, "{")).status).toBe(400);
  expect((await send("GET", `${repository}/no-such-thing`)).status).toBe(404);
  expect((await send("GET", `${repository}/git/ref/%E0%A4%A`)).status).toBe(400);
  const plain = await fetch(`${at.github.apiUrl}/rate_limit`, { headers: { "user-agent": "" } });
  expect(plain.status).toBe(403);
});

test("a completed check run has a conclusion, at most three buttons, and a text of 65,535 characters", async () => {
  const create = (more: object) =>
    send("POST", `${repository}/check-runs`, { name: "Countersign", head_sha: head, ...more });
  const button = { label: "Stop", description: "Stops it", identifier: "stop" };

  expect((await create({ status: "completed" })).status).toBe(422);
  expect((await create({ actions: [button, button, button, button] })).status).toBe(422);
  expect((await create({ output: { title: "t", summary: "a".repeat(65_536) } })).status).toBe(422);
  expect((await create({ actions: [button], conclusion: "neutral" })).body).toMatchObject({ status: "completed" });
});

test("the App can't approve its own pull request", async () => {
  await createBranch("own", await commitWith({ "c.md": "c" }));
  const opened = await send("POST", `${repository}/pulls`, { title: "Own", head: "own", base: "main" });
  const { number } = opened.body as { number: number };

  const reply = await send("POST", `${repository}/pulls/${number}/reviews`, { event: "APPROVE" });

  expect(reply.status).toBe(422);
});

test("a transferred issue leads to its new place; a transferred repository is out of reach", async () => {
  const files = { kind: "empty" } as const;
  const target = await at.github.createRepository({ owner: "ada", name: "target", source: files }, stop);
  await at.github.createRepository({ owner: "ada", name: "leaving", source: files }, stop);
  const own = caller(at, await tokenFor(at));
  const number = await openIssue();

  const to = await at.github.transferIssue({ repository: "ada/sample", number }, "ada/target", "ada");
  at.github.transfer("ada/leaving", "wes");

  const moved = await own("GET", `${repository}/issues/${number}`);
  expect(moved.status).toBe(301);
  expect(moved.headers.get("location")).toBe(`${at.github.apiUrl}/repositories/${target.id}/issues/${to}`);
  expect((await own("GET", "/repos/wes/leaving")).status).toBe(404);
});

test("a plan without drafts refuses one", async () => {
  const source = { kind: "folder", folder: new URL("../../../src/demo/sample", import.meta.url).pathname } as const;
  const { id } = await at.github.createRepository({ owner: "ada", name: "plain", source }, stop);
  at.github.refuseDrafts("ada/plain");
  await at.github.push("ada/plain", { branch: "x", message: "X", by: "wes", files: { "x.md": "x" } });
  const own = caller(at, await tokenFor(at));
  const open = (draft: boolean) =>
    own("POST", `/repositories/${id}/pulls`, { title: "X", head: "x", base: "main", draft });

  expect(await open(true)).toMatchObject({
    status: 422,
    body: { message: "Draft pull requests are not supported in this repository." },
  });
  expect((await open(false)).status).toBe(201);
});
