import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** A call of git as plain data, which a thread can be given. */
export type GitCommand = {
  readonly program: string;
  readonly argv: readonly string[];
  readonly folder: string;
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
};

export type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export const startCommand = ({ program, argv, folder, environment }: GitCommand, signal: AbortSignal): GitProcess =>
  spawn(program, argv, {
    cwd: folder,
    env: environment,
    stdio: ["pipe", "pipe", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });

/** Waits until git has ended and its pipes are closed. Throws the signal's reason once it is aborted. */
export function endOfGit(
  child: GitProcess,
  signal: AbortSignal,
): Promise<{ readonly exitCode: number | null; readonly line: string }> {
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-4096);
  });
  const end = new Promise<{ readonly exitCode: number | null; readonly line: string }>((resolve, reject) => {
    child.on("error", (cause) => reject(signal.aborted ? signal.reason : cause));
    child.on("close", (exitCode) => {
      if (signal.aborted) return reject(signal.reason);
      const lines = stderr.split("\n").filter((text) => text.trim() !== "");
      resolve({ exitCode, line: lines.find((text) => /^(fatal|error):/.test(text)) ?? lines.at(-1) ?? "no message" });
    });
  });
  end.catch(() => {}); // who waits for it may still be reading what it wrote: until then nobody has missed it
  return end;
}
