import { readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isRoot } from "./host.ts";
import { listProcesses, unlessGone } from "./process-tree.ts";
import type { SandboxLimits } from "./sandbox-limits.ts";

const gibibyte = 1024 ** 3;

export type ProcessLimitsRequest = {
  readonly timeoutMs: number;
  readonly limits: Pick<SandboxLimits, "fileBytes" | "openFiles">;
  /** For `nproc`. */
  readonly tasks: number;
  readonly hasMemoryGroup: boolean;
};

/**
 * `prlimit`'s options (SEC-55). Only ever lower than what the service itself has: raising needs a capability that even root
 * may lack. Each WebAssembly memory reserves gigabytes of address space, so that is limited only where no group counts memory.
 */
export function processLimits({ timeoutMs, limits, tasks, hasMemoryGroup }: ProcessLimitsRequest): readonly string[] {
  const hard = hardLimits();
  const cpuSeconds = Math.ceil(timeoutMs / 1000) * availableParallelism() + 10;
  const wanted: readonly [string, string, number][] = [
    ["nproc", "Max processes", tasks],
    ["as", "Max address space", hasMemoryGroup ? Number.POSITIVE_INFINITY : 128 * gibibyte],
    ["fsize", "Max file size", limits.fileBytes],
    ["nofile", "Max open files", limits.openFiles],
    ["cpu", "Max cpu time", cpuSeconds],
    ["core", "Max core file size", 0],
  ];
  return wanted.map(([option, row, limit]) => {
    const value = Math.min(limit, hard.get(row) ?? limit);
    const text = Number.isFinite(value) ? `${value}` : "unlimited";
    return `--${option}=${text}:${text}`;
  });
}

/** The hard limits in force, by the row's name in `/proc/self/limits`; unlimited ones are left out. */
function hardLimits(): ReadonlyMap<string, number> {
  const rows = readFileSync("/proc/self/limits", "latin1").matchAll(/^(.{25}) (\S+) +(\d+) /gm);
  return new Map(Array.from(rows, ([, name = "", , hard]) => [name.trim(), Number(hard)]));
}

/** Threads and short programs of the service itself that are not there yet when its tasks are counted. */
const startedMeanwhile = 16;

/**
 * `nproc` counts every task of a uid: of all sandboxes that share it, and of an ordinary user's own programs too, so these are
 * added to what the sandboxes may have.
 */
export function allowedTasks(processes: number, sandboxesAtOnce: number): number {
  const inside = processes * sandboxesAtOnce;
  if (isRoot()) return inside;
  const uid = process.geteuid?.() ?? 0;
  const own = listProcesses().map(({ pid }) => {
    if (unlessGone(() => statSync(`/proc/${pid}`))?.uid !== uid) return 0;
    const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, "latin1")) ?? "";
    return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  });
  return inside + own.reduce((sum, count) => sum + count, startedMeanwhile);
}
