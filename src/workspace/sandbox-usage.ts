import { readFileSync } from "node:fs";
import { descendantsOf, type ProcessFacts, unlessGone } from "./process-tree.ts";
import { sharedMemoryOf } from "./shared-memory.ts";

/** What the processes of a sandbox hold together. */
export type SandboxUsage = { readonly memoryBytes: number; readonly tasks: number };

/** Looking at the shared memory costs as much as all else together, so it is done less often. */
const lookAtSharedEveryMs = 1_000;
/** A pause this many times as long as the look took keeps the looking from being a load of its own. */
const pausePerLook = 10;

/**
 * Adds up, at each call, all below the init and itself. Pages that several have resident are counted for each, and shared ones that
 * none has resident are added: more than it is, never less.
 */
export function usageMeter(): (init: ProcessFacts) => SandboxUsage {
  let sharedBytes = 0;
  let nextLookAt = 0;
  return (init) => {
    const pids = [init, ...descendantsOf(init.pid)].map(({ pid }) => pid);
    const sum = { resident: 0, residentShared: 0, tasks: 0 };
    for (const pid of pids) {
      const status = readOrEmpty(`/proc/${pid}/status`);
      sum.resident += 1024 * numberIn(status, /^VmRSS:\s+(\d+) kB$/m);
      sum.residentShared += 1024 * numberIn(status, /^RssShmem:\s+(\d+) kB$/m);
      sum.tasks += numberIn(status, /^Threads:\s+(\d+)$/m);
    }
    const now = performance.now();
    if (now >= nextLookAt) {
      sharedBytes = sharedMemoryOf(pids);
      nextLookAt = now + Math.max(lookAtSharedEveryMs, pausePerLook * (performance.now() - now));
    }
    return { memoryBytes: sum.resident + Math.max(0, sharedBytes - sum.residentShared), tasks: sum.tasks };
  };
}

const numberIn = (status: string, line: RegExp): number => Number(line.exec(status)?.[1] ?? 0);

/** Clock ticks that the processes of a sandbox have worked, those that ended and were waited for included. */
export function ticksOf(init: ProcessFacts): number {
  return [init, ...descendantsOf(init.pid)].reduce((sum, { pid }) => {
    const stat = readOrEmpty(`/proc/${pid}/stat`);
    // utime, stime, cutime, cstime: fields 14 to 17 (proc_pid_stat(5)); the name before them may hold blanks
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0);
  }, 0);
}

const readOrEmpty = (path: string): string => unlessGone(() => readFileSync(path, "latin1")) ?? "";
