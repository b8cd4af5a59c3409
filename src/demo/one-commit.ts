import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CountersignError } from "../domain/index.ts";

/** Nothing of the machine's or the user's git configuration takes part; author and date are fixed, so that the commit is too. */
export const quietGit = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  LC_ALL: "C.UTF-8",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "Countersign Sample",
  GIT_AUTHOR_EMAIL: "sample@countersign.invalid",
  GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "Countersign Sample",
  GIT_COMMITTER_EMAIL: "sample@countersign.invalid",
  GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
};

const run = promisify(execFile);

/** Makes a folder of files a git repository with one commit on `main`, and returns the commit's id. Throws `GIT_FAILED`. */
export async function commitOnce(folder: string, message: string, signal: AbortSignal): Promise<string> {
  const git = async (...args: readonly string[]): Promise<string> => {
    try {
      return (await run("git", ["-C", folder, ...args], { env: quietGit, signal })).stdout.trim();
    } catch (error) {
      signal.throwIfAborted();
      throw gitFailed(folder, args, error);
    }
  };
  await git("init", "--quiet", "--initial-branch=main");
  await git("-c", "core.autocrlf=false", "add", "--all", "--force");
  await git("commit", "--quiet", "--no-gpg-sign", "--message", message);
  return git("rev-parse", "HEAD");
}

const gitFailed = (folder: string, args: readonly string[], cause: unknown): CountersignError =>
  new CountersignError("GIT_FAILED", `\`git ${args.join(" ")}\` failed in \`${folder}\``, { cause });
