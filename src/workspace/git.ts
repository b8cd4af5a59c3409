import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CountersignError, type ErrorCode } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import { endOfGit, type GitCommand, type GitProcess, startCommand } from "./git-process.ts";
import type { WorkspaceDeps } from "./host.ts";
import { serviceFolder } from "./service-folder.ts";

/** SEC-75: nothing of the user's or the machine's configuration, no prompt, no code of a repository. */
const safeSettings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "safe.bareRepository=explicit",
  "fetch.fsckObjects=true",
  "transfer.credentialsInUrl=die",
  "http.followRedirects=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
];

export type GitCall = {
  /** The subcommand and its arguments; what comes from data stands behind `--end-of-options`. */
  readonly arguments: readonly string[];
  /** The bare repository, always named (`safe.bareRepository=explicit`); null where the call needs none. */
  readonly gitFolder: string | null;
  /** Further `key=value` settings, such as the one protocol that a fetch may use. */
  readonly settings?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
};

/** The folder git is started from: empty, ours, and so without any repository of its own. */
export async function emptyFolder(deps: Pick<WorkspaceDeps, "home">): Promise<string> {
  const folder = join(serviceFolder(deps, "mirrors", 0o700), "empty");
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Git as SEC-75 says, with nothing started yet. */
export async function gitCommand(deps: WorkspaceDeps, call: GitCall): Promise<GitCommand> {
  const program = findProgram(deps.searchPath, "git");
  if (program === null) throw new CountersignError("GIT_MISSING", `git is in none of \`${deps.searchPath}\``);
  const settings = [...safeSettings, ...(call.settings ?? [])].flatMap((setting) => ["-c", setting]);
  const place = call.gitFolder === null ? [] : [`--git-dir=${call.gitFolder}`];
  return {
    program,
    argv: [...settings, ...place, ...call.arguments],
    folder: await emptyFolder(deps),
    environment: {
      PATH: deps.searchPath,
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "/bin/false",
      GIT_LFS_SKIP_SMUDGE: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_NO_LAZY_FETCH: "1", // a partial clone must not call its remote because somebody reads it
      GIT_OPTIONAL_LOCKS: "0",
      ...call.environment,
    },
  };
}

/** Starts git as SEC-75 says. The caller reads its output and awaits its end. */
export const startGit = async (deps: WorkspaceDeps, call: GitCall, signal: AbortSignal): Promise<GitProcess> =>
  startCommand(await gitCommand(deps, call), signal);

/** What git printed, or the last line that it wrote to standard error. */
export type GitAnswer =
  | { readonly kind: "done"; readonly stdout: Buffer }
  | { readonly kind: "failed"; readonly exitCode: number | null; readonly line: string };

/** Runs git to its end. A non-zero exit is an answer; only a missing git and the signal throw. */
export async function askGit(deps: WorkspaceDeps, call: GitCall, signal: AbortSignal): Promise<GitAnswer> {
  signal.throwIfAborted();
  const child = await startGit(deps, call, signal);
  const stdout: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stdin.on("error", () => {}); // git may end before it has read its input; its exit status says the rest
  child.stdin.end(call.input);
  const { exitCode, line } = await endOfGit(child, signal);
  return exitCode === 0 ? { kind: "done", stdout: Buffer.concat(stdout) } : { kind: "failed", exitCode, line };
}

/** As `askGit`; a non-zero exit throws `code` with what was wanted and git's own line. */
export async function runGit(
  deps: WorkspaceDeps,
  call: GitCall & { readonly purpose: string; readonly code?: ErrorCode },
  signal: AbortSignal,
): Promise<Buffer> {
  const answer = await askGit(deps, call, signal);
  if (answer.kind === "done") return answer.stdout;
  throw new CountersignError(call.code ?? "GIT_FAILED", `git could not ${call.purpose}: ${answer.line}`, {
    details: { exitCode: answer.exitCode },
  });
}
