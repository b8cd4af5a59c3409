import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { commitOnce, writeSampleRepository } from "../../src/demo/index.ts";

const run = promisify(execFile);
/** git and test runs take their time on a busy machine. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-sample-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const git = async (at: string, ...args: readonly string[]): Promise<string> =>
  (await run("git", ["-C", at, ...args])).stdout.trim();

test("writes a clean repository with one commit that is the same each time", async ({ signal }) => {
  const one = await writeSampleRepository(join(folder, "one"), signal);
  const two = await writeSampleRepository(join(folder, "two"), signal);

  expect(one.commitSha).toMatch(/^[0-9a-f]{40}$/);
  expect(two.commitSha).toBe(one.commitSha);
  expect(await git(one.folder, "status", "--porcelain")).toBe("");
  expect(await git(one.folder, "rev-list", "--count", "HEAD")).toBe("1");
  expect(await git(one.folder, "symbolic-ref", "--short", "HEAD")).toBe("main");
  expect(await git(one.folder, "log", "-1", "--format=%an %ct")).toBe("Countersign Sample 1767225600");
});

test("has tests of which exactly one fails, and an issue about it", async ({ signal }) => {
  const sample = await writeSampleRepository(join(folder, "one"), signal);

  const failed: unknown = await run(process.execPath, ["--test", "--test-reporter=tap"], {
    cwd: sample.folder,
    env: {},
  }).catch((error: unknown) => error);

  const { stdout } = failed as { stdout: string };
  const [title] = [...stdout.matchAll(/^ *not ok \d+ - (.*)$/gm)].map((match) => match[1] ?? "");
  expect(stdout).toMatch(/^# fail 1$/m);
  expect(sample.issue).toContain(title);
});

test("holds what the README names and no dependency", async ({ signal }) => {
  const sample = await writeSampleRepository(join(folder, "one"), signal);

  const files = await readdir(join(sample.folder, "src"));
  const manifest = JSON.parse(await readFile(join(sample.folder, "package.json"), "utf8"));

  expect(files.sort()).toEqual(["clock.js", "hours.js", "price.js"]);
  expect(Object.keys(manifest)).not.toContain("dependencies");
});

test("doesn't write over a folder that has such files", async ({ signal }) => {
  await writeSampleRepository(join(folder, "one"), signal);

  await expect(writeSampleRepository(join(folder, "one"), signal)).rejects.toThrow();
});

test("says which git command failed where", async ({ signal }) => {
  await writeFile(join(folder, "file"), "");

  await expect(commitOnce(join(folder, "file"), "none", signal)).rejects.toMatchObject({
    code: "GIT_FAILED",
    message: expect.stringContaining("git init"),
  });
});
