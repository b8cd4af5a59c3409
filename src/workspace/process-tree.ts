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

/**
 * What `/proc` says of a process by this call; null once the process is gone. What can't be told for another reason (no descriptor left,
 * say) throws: not to know of a process is not to know that it is gone.
 */
export function unlessGone<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

/**
 * As `unlessGone`; null also of what is closed to an ordinary user: bubblewrap's own init, which holds nothing of the command's, and a program
 * of the host's that users may start and not read. A command can't close itself: the service owns its user namespace (ptrace(2)).
 */
export function unlessClosed<T>(ask: () => T): T | null {
  try {
    return unlessGone(ask);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") return null;
    throw error;
  }
}

/** Null once the process is gone. Throws where that can't be told. */
export function readProcess(pid: number): ProcessFacts | null {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  if (text === null) return null;
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  return {
    pid,
    name: text.slice(text.indexOf("(") + 1, end),
    state: fields[0] ?? "?",
    parentPid: Number(fields[1]),
    startTime: fields[19] ?? "",
  };
}

/**
 * A zombie has let go of all it held; the init of a PID namespace becomes one only when its namespace is empty. Throws where it can't be
 * told.
 */
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

function innerPid(pid: number): number {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, "latin1")) ?? "";
  const numbers = /^NSpid:\s+(.+)$/m.exec(status)?.[1] ?? "";
  return Number(numbers.split(/\s+/).at(-1));
}
