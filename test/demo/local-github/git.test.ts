import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, tokenFor } from "../../support/local-github.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
beforeAll(async () => {
  at = await openGithub(new AbortController().signal);
});
afterAll(() => at[Symbol.asyncDispose]());

const run = promisify(execFile);
const environment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
};
const git = async (...args: readonly string[]): Promise<string> =>
  (await run("git", [...args], { env: environment })).stdout.trim();
const header = (token: string, scheme = "basic"): string =>
  scheme === "basic"
    ? `http.extraHeader=Authorization: basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`
    : `http.extraHeader=Authorization: bearer ${token}`;
const url = (name = "ada/sample"): string => `${at.github.origin}/${name}.git`;

test("git clones with a token and gets the very commits that the API shows", async () => {
  const token = await tokenFor(at, { permissions: { contents: "read" } });
  const folder = join(at.folder, "clone");

  await git("-c", header(token), "clone", "--quiet", url(), folder);

  const reply = await caller(at, token)("GET", "/repos/ada/sample/branches/main");
  expect(reply.body).toMatchObject({ commit: { sha: await git("-C", folder, "rev-parse", "HEAD") } });
  expect(await git("-C", folder, "symbolic-ref", "--short", "HEAD")).toBe("main");
});

test("git fetches a bare commit, a branch that was pushed since, and a pull request's head", async () => {
  const token = await tokenFor(at);
  const folder = join(at.folder, "fetch");
  await git("init", "--quiet", folder);

  const files = { "docs/a.md": "a\n" };
  const sha = await at.github.push("ada/sample", { branch: "later", message: "Later", by: "wes", files });
  const pull = await at.github.openPull("ada/sample", { title: "Later", head: "later", base: "main", by: "wes" });
  const fetch = (what: string) =>
    git("-C", folder, "-c", header(token, "bearer"), "fetch", "--quiet", "--depth=1", url(), what);
  const shas: string[] = [];
  for (const what of [sha, "refs/heads/later", `refs/pull/${pull}/head`]) {
    await fetch(what);
    shas.push(await git("-C", folder, "rev-parse", "FETCH_HEAD"));
  }

  expect(shas).toEqual([sha, sha, sha]);
});

test.each([
  ["without a token", () => Promise.resolve("x=y"), "could not read Username"],
  ["with an unknown token", () => Promise.resolve(header("ghs_unknown")), "Authentication failed|could not read"],
  [
    "without the right to read contents",
    async () => header(await tokenFor(at, { permissions: { issues: "read" } })),
    "403",
  ],
])("git may not read %s", async (_, configuration, message) => {
  const key = await configuration();

  await expect(git("-c", key === "x=y" ? "core.quotePath=true" : key, "ls-remote", url())).rejects.toThrow(
    new RegExp(message),
  );
});

test("git is told of a new name and follows it", async ({ signal }) => {
  const files = new URL("../../../src/demo/sample", import.meta.url).pathname;
  await at.github.createRepository({ owner: "ada", name: "before", source: { kind: "folder", folder: files } }, signal);
  at.github.rename("ada/before", "after");
  const token = await tokenFor(at);

  const out = await git("-c", "http.followRedirects=true", "-c", header(token), "ls-remote", url("ada/before"), "HEAD");

  expect(out).toMatch(/^[0-9a-f]{40}\tHEAD$/);
});

test("git may not push", async () => {
  const token = await tokenFor(at);
  const folder = join(at.folder, "push");
  await git("-c", header(token), "clone", "--quiet", url(), folder);

  await expect(git("-C", folder, "-c", header(token), "push", url(), "HEAD:refs/heads/mine")).rejects.toThrow("403");
});

test("a token for another repository finds none", async ({ signal }) => {
  const other = await at.github.createRepository({ owner: "ada", name: "other", source: { kind: "empty" } }, signal);
  const token = await tokenFor(at, { repository_ids: [other.id] });

  await expect(git("-c", header(token), "ls-remote", url())).rejects.toThrow("not found");
});
