import { chownSync, closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { CountersignError } from "../domain/index.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import { runByShell } from "./program-shell.ts";

/** Two named pipes of a workspace. Node gives a child sockets, and a program can't open `/dev/stdout` if that is one (SEC-46). */
export type OutputPipes = { readonly stdout: string; readonly stderr: string };

/** Makes the pipes in a folder that no sandbox sees; they belong to the run uid, which alone may open them again. */
export async function makeOutputPipes(deps: WorkspaceDeps, folder: string, owner: Owner): Promise<OutputPipes> {
  const pipes = { stdout: join(folder, "stdout"), stderr: join(folder, "stderr") };
  const argv = ["--mode=0600", "--", pipes.stdout, pipes.stderr];
  const complaint = await runByShell(deps, { name: "mkfifo", argv, folder });
  if (complaint !== null) throw new CountersignError("SANDBOX_FAILED", `no output pipe could be made: ${complaint}`);
  if (owner !== null) for (const path of Object.values(pipes)) chownSync(path, owner.uid, owner.gid);
  return pipes;
}

/** Both ends of a pipe: `writer` is given to the child and closed here once the child has it. */
export type OpenPipe = { readonly reader: Socket; readonly writer: number };

export function openPipe(path: string): OpenPipe {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // not waiting for the writer below
  try {
    const writer = openSync(path, constants.O_WRONLY);
    return { reader: new Socket({ fd: descriptor, readable: true, writable: false }), writer };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
