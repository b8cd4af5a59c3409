import { readdirSync, readFileSync } from "node:fs";

/** One line of `/proc/<pid>/stat` (proc_pid_stat(5)), as far as it is needed. */
export type ProcessFacts = {
  readonly pid: number;
  /** The kernel's name of the program, at most 15 bytes, chosen by whoever runs. */
  readonly name: string;
  readonly state: string;
  readonly parentPid: number;
  /** Clock ticks since boot; with the pid it names one process for ever. */
  readonly startTime: string;
};

/** Null once the process is gone. */
export function readProcess(pid: number): ProcessFacts | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const end = text.lastIndexOf(")");
    const fields = text.slice(end + 2).split(" ");
    return {
      pid,
      name: text.slice(text.indexOf("(") + 1, end),
      state: fields[0] ?? "?",
      parentPid: Number(fields[1]),
      startTime: fields[19] ?? "",
    };
  } catch {
    return null;
  }
}

/** A zombie has let go of all it held; the init of a PID namespace becomes one only when its namespace is empty. */
export function isGone(pid: number, startTime: string): boolean {
  const facts = readProcess(pid);
  return facts === null || facts.startTime !== startTime || facts.state === "Z" || facts.state === "X";
}

export function listProcesses(): ProcessFacts[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

/** All that descends from a process. Orphans of a PID namespace become children of its init, so none is missed there. */
export function descendantsOf(pid: number): ProcessFacts[] {
  const byParent = Map.groupBy(listProcesses(), (facts) => facts.parentPid);
  const found: ProcessFacts[] = [];
  for (const waiting = [pid]; waiting.length > 0; ) {
    const children = byParent.get(waiting.pop() ?? 0) ?? [];
    found.push(...children);
    waiting.push(...children.map((child) => child.pid));
  }
  return found;
}

/** Sends a signal; a process that has ended meanwhile is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: already gone
  }
}

/** It is started right after the init, so that its pid is mostly one of the next: no need to read all of `/proc`. */
const likelyPids = 8;

/** The process that is number 2 in the namespace of which `init` is number 1. */
export function findSupervisor(init: ProcessFacts): ProcessFacts | null {
  for (let pid = init.pid + 1; pid <= init.pid + likelyPids; pid++) {
    const facts = readProcess(pid);
    if (facts?.parentPid === init.pid && innerPid(pid) === 2) return facts;
  }
  return descendantsOf(init.pid).find(({ pid, parentPid }) => parentPid === init.pid && innerPid(pid) === 2) ?? null;
}

function innerPid(pid: number): number | null {
  try {
    const numbers = /^NSpid:\s+(.+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "";
    return Number(numbers.split(/\s+/).at(-1));
  } catch {
    return null;
  }
}
