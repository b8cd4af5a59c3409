import { readFileSync } from "node:fs";
import { descendantsOf, type ProcessFacts } from "./process-tree.ts";

/** What the processes of a sandbox hold together. */
export type SandboxUsage = { readonly residentBytes: number; readonly tasks: number };

/** Adds up all below the init, and itself. Pages that several share are counted for each: more than it is, never less. */
export function usageOf(init: ProcessFacts): SandboxUsage {
  let residentBytes = 0;
  let tasks = 0;
  for (const { pid } of [init, ...descendantsOf(init.pid)]) {
    const status = readOrEmpty(`/proc/${pid}/status`);
    residentBytes += 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
    tasks += Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return { residentBytes, tasks };
}

/** Clock ticks that the processes of a sandbox have worked, those that ended and were waited for included. */
export function ticksOf(init: ProcessFacts): number {
  return [init, ...descendantsOf(init.pid)].reduce((sum, { pid }) => {
    const stat = readOrEmpty(`/proc/${pid}/stat`);
    // utime, stime, cutime, cstime: fields 14 to 17 (proc_pid_stat(5)); the name before them may hold blanks
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0);
  }, 0);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // ended meanwhile
  }
}
