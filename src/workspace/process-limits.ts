import { readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isRoot } from "./host.ts";
import { listProcesses } from "./process-tree.ts";

const gibibyte = 1024 ** 3;

/**
 * `prlimit`'s options (SEC-55). Only ever lower than what the service itself has: raising needs a capability that even root
 * may lack. The address space stays large, since each WebAssembly memory reserves gigabytes.
 */
export function processLimits(request: { readonly timeoutMs: number; readonly tasks: number }): readonly string[] {
  const hard = hardLimits();
  const cpuSeconds = Math.ceil(request.timeoutMs / 1000) * availableParallelism() + 10;
  const wanted: readonly [string, string, number][] = [
    ["nproc", "Max processes", request.tasks],
    ["as", "Max address space", 128 * gibibyte],
    ["fsize", "Max file size", gibibyte],
    ["nofile", "Max open files", 4096],
    ["cpu", "Max cpu time", cpuSeconds],
    ["core", "Max core file size", 0],
  ];
  return wanted.map(([option, row, limit]) => {
    const value = Math.min(limit, hard.get(row) ?? limit);
    return `--${option}=${value}:${value}`;
  });
}

/** The hard limits in force, by the row's name in `/proc/self/limits`; unlimited ones are left out. */
function hardLimits(): ReadonlyMap<string, number> {
  const rows = readFileSync("/proc/self/limits", "latin1").matchAll(/^(.{25}) (\S+) +(\d+) /gm);
  return new Map(Array.from(rows, ([, name = "", , hard]) => [name.trim(), Number(hard)]));
}

const tasksOfOneRun = 512;

/**
 * `nproc` counts every task of a uid. A run uid has none but the sandbox's; an ordinary user's own programs are counted too,
 * so these are added to what the sandbox may have.
 */
export function allowedTasks(): number {
  if (isRoot()) return tasksOfOneRun;
  const uid = process.geteuid?.() ?? 0;
  const own = listProcesses().map(({ pid }) => {
    try {
      if (statSync(`/proc/${pid}`).uid !== uid) return 0;
      return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  });
  return tasksOfOneRun + own.reduce((sum, count) => sum + count, 0);
}
