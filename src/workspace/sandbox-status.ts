import type { Readable } from "node:stream";
import { type ProcessFacts, readProcess } from "./process-tree.ts";

/** What bubblewrap says on its status descriptor (bwrap(1), `--json-status-fd`): one JSON document a line. */
export type SandboxStatus = {
  /** The init of the sandbox's PID namespace as the host sees it; null where the sandbox never came to be, or it can't be told. */
  readonly init: Promise<ProcessFacts | null>;
  /** Why it can't be told who the init is; null where it can. */
  failure(): Error | null;
  /** Known once bubblewrap has ended; null where the set-up inside failed, so that no command ran. */
  exitCode(): number | null;
};

export function readStatus(stream: Readable): SandboxStatus {
  const { promise: init, resolve } = Promise.withResolvers<ProcessFacts | null>();
  let exitCode: number | null = null;
  let failure: Error | null = null;
  const findInit = (pid: number): void => {
    try {
      resolve(readProcess(pid));
    } catch (error) {
      failure = error as Error;
      resolve(null);
    }
  };
  let text = "";
  const takeLine = (line: string): void => {
    const childPid = /"child-pid": (\d+)/.exec(line)?.[1];
    if (childPid !== undefined) findInit(Number(childPid));
    const code = /"exit-code": (\d+)/.exec(line)?.[1];
    if (code !== undefined) exitCode = Number(code);
  };
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) takeLine(line);
  });
  stream.on("error", () => resolve(null));
  stream.on("close", () => resolve(null));
  return { init, failure: () => failure, exitCode: () => exitCode };
}
