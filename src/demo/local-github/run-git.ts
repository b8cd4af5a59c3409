import { spawn } from "node:child_process";
import { CountersignError } from "../../domain/index.ts";

/** Nothing of the machine's or the user's git configuration takes part. */
export const gitEnvironment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  LC_ALL: "C.UTF-8",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
};

export type GitInput = { readonly input?: string | Uint8Array; readonly env?: Readonly<Record<string, string>> };
export type GitResult = { readonly exitCode: number; readonly stdout: Buffer; readonly stderr: string };

/** Runs git in a bare repository and says how it ended, whatever that is. */
export function tryGit(folder: string, args: readonly string[], given: GitInput = {}): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const child = spawn("git", [`--git-dir=${folder}`, "-c", "core.quotePath=false", ...args], {
      env: { ...gitEnvironment, ...given.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on("error", () => {}); // a child that ended early says so by its exit code
    child.on("error", reject);
    child.on("close", (code) =>
      resolve({
        exitCode: code ?? 128,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString("utf8"),
      }),
    );
    child.stdin.end(given.input ?? "");
  });
}

/** Runs git and returns what it printed. Throws `GIT_FAILED`. */
export async function runGit(folder: string, args: readonly string[], given: GitInput = {}): Promise<Buffer> {
  const result = await tryGit(folder, args, given);
  if (result.exitCode === 0) return result.stdout;
  throw new CountersignError(
    "GIT_FAILED",
    `\`git ${args[0] ?? ""}\` ended with ${result.exitCode}: ${result.stderr.trim()}`,
  );
}

export const gitText = async (folder: string, args: readonly string[], given: GitInput = {}): Promise<string> =>
  (await runGit(folder, args, given)).toString("utf8").trimEnd();
