import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CountersignError } from "../domain/index.ts";
import { quietGit } from "./one-commit.ts";

const run = promisify(execFile);

/** A pull request's head as plain git fetched it. */
export type FetchedHead = {
  readonly sha: string;
  /** Whether its tree is exactly that of the base with the patch laid on it: what was tested is what was published. */
  readonly isBaseAndPatch: boolean;
};

/**
 * Fetches head and base of a pull request over HTTP into a new `folder`, without a credential, and compares. Throws
 * `GIT_FAILED`.
 */
export async function fetchHead(
  folder: string,
  pull: { readonly url: string; readonly number: number; readonly base: string; readonly patch: string },
  signal: AbortSignal,
): Promise<FetchedHead> {
  await mkdir(folder);
  const git = async (...args: readonly string[]): Promise<string> => {
    const done = await run("git", ["-C", folder, ...args], { env: quietGit, signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new CountersignError("GIT_FAILED", `\`git ${args[0]}\` failed on the pull request's head`, { cause });
    });
    return done.stdout.trim();
  };
  const patchFile = join(folder, "..", "published.patch");
  await writeFile(patchFile, pull.patch);
  await git("init", "--quiet");
  await git(
    "fetch",
    "--quiet",
    pull.url,
    `refs/pull/${pull.number}/head:refs/heads/head`,
    `${pull.base}:refs/heads/base`,
  );
  await git("read-tree", await git("merge-base", "base", "head"));
  if (pull.patch !== "") await git("apply", "--cached", patchFile);
  const expected = await git("write-tree");
  return { sha: await git("rev-parse", "head"), isBaseAndPatch: expected === (await git("rev-parse", "head^{tree}")) };
}
