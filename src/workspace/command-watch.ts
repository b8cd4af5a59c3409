import type { ChildProcess } from "node:child_process";
import type { ReachedLimit } from "../domain/index.ts";
import type { Confinement } from "./confinement.ts";
import { nameLeftovers } from "./leftovers.ts";
import { descendantsOf, findSupervisor, isGone, type ProcessFacts, sendSignal } from "./process-tree.ts";
import type { SandboxStatus } from "./sandbox-status.ts";
import { ticksOf } from "./sandbox-usage.ts";
import type { WorkWatch } from "./work-watch.ts";

/** Between TERM and KILL at the time limit (ACI-58). */
const graceMs = 200;
/** How often is looked whether a limit was reached. */
const lookEveryMs = 100;

/** Why a command was ended; the first reason wins. */
export type EndReason =
  | { readonly kind: "timed_out" }
  | { readonly kind: "canceled" }
  /** What it holds, or whether it lives, can't be told any more. */
  | { readonly kind: "unwatched"; readonly cause: unknown }
  | { readonly kind: "limit"; readonly limit: ReachedLimit };

export type WatchedCommand = {
  readonly child: ChildProcess;
  readonly status: SandboxStatus;
  readonly confinement: Confinement;
  readonly timeoutMs: number;
  /** Bytes on both streams so far. */
  readonly printedBytes: () => number;
  /** Null where the work folder's file system keeps its own limits. */
  readonly work: WorkWatch | null;
};

export type CommandWatch = {
  reason(): EndReason | null;
  /** The last signal that was sent for it. */
  lastSignal(): NodeJS.Signals | null;
  /** Names of processes that outlived the command. */
  killed(): readonly string[];
  /** Ends the command since something that it needs could not be done. */
  fail(cause: unknown): void;
  /** The command has ended: nothing is looked for any more. */
  stop(): void;
  /** Once more, when all output is in: for limits that ended the command by themselves. */
  lookBack(): void;
};

/**
 * Ends the sandbox at a limit, on the signal (SEC-57), and where a look at it fails: what can't be watched does not run on. Looks for
 * what outlives the command. Neither it nor its timers throw.
 */
export function watchOver(command: WatchedCommand, signal: AbortSignal): CommandWatch {
  const { child, status, timeoutMs } = command;
  let reason: EndReason | null = null;
  let lastSignal: NodeJS.Signals | null = null;
  const killed: string[] = [];
  const kill = (): void => {
    lastSignal = "SIGKILL";
    void killSandbox(child, status);
  };
  const endNow = (because: EndReason): void => {
    reason ??= because;
    kill();
  };
  const fail = (cause: unknown): void => endNow({ kind: "unwatched", cause });
  const stopNaming = nameLeftovers(status.init, killed, fail);
  let grace: NodeJS.Timeout | undefined;
  const limit = setTimeout(() => {
    if (reason !== null) return;
    reason = { kind: "timed_out" };
    lastSignal = "SIGTERM";
    void status.init.then(terminateTree).catch(() => {}); // KILL follows
    grace = setTimeout(kill, graceMs);
  }, timeoutMs);
  let reachedLimit: ReturnType<typeof limitsOf> | null = null;
  let found: ProcessFacts | null = null;
  void status.init.then((init) => {
    found = init;
    if (status.failure() !== null) fail(status.failure());
  });
  const look = (): void => {
    if (reason !== null) return;
    try {
      reachedLimit ??= limitsOf(command);
      const reached = reachedLimit(found);
      if (reached !== null) endNow({ kind: "limit", limit: reached });
    } catch (cause) {
      fail(cause);
    }
  };
  look(); // what was counted before the command is known from here on
  const looking = setInterval(look, lookEveryMs);
  const cancel = (): void => endNow({ kind: "canceled" });
  signal.addEventListener("abort", cancel, { once: true });
  return {
    reason: () => reason,
    lastSignal: () => lastSignal,
    killed: () => killed,
    fail,
    stop: () => {
      for (const timer of [limit, grace, looking]) clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      stopNaming();
      command.work?.stop();
    },
    lookBack: () => {
      found = null;
      look();
    },
  };
}

/**
 * With the init all in its namespace dies; bubblewrap itself says which it is before it goes on. Where that can't be told it dies with
 * bubblewrap.
 */
async function killSandbox(child: ChildProcess, status: SandboxStatus): Promise<void> {
  const init = await status.init;
  try {
    if (init !== null && !isGone(init.pid, init.startTime)) sendSignal(init.pid, "SIGKILL");
  } catch {
    // it may be another's by now
  } finally {
    child.kill("SIGKILL");
  }
}

/** All limits but time, asked in one go. */
function limitsOf({
  confinement,
  printedBytes,
  work,
}: WatchedCommand): (init: ProcessFacts | null) => ReachedLimit | null {
  const { outputBytes, runOutputBytes, idleMs } = confinement.limits;
  const usedBefore = confinement.output.usedBytes;
  const ofGroup = confinement.watch();
  const isIdle = idleWatch(idleMs, printedBytes);
  return (init) => {
    const printed = printedBytes();
    confinement.output.usedBytes = usedBefore + printed;
    if (printed > outputBytes) return { kind: "output", atMost: outputBytes };
    if (usedBefore + printed > runOutputBytes) return { kind: "run_output", atMost: runOutputBytes };
    const reached = ofGroup(init) ?? work?.reached() ?? null;
    if (reached !== null) return reached;
    return init !== null && isIdle(init) ? { kind: "idle", atMost: idleMs } : null;
  };
}

const looksInIdleTime = 8;

/** Idle is who neither prints nor works. What it has worked is looked up a few times in the idle time. */
function idleWatch(idleMs: number, printedBytes: () => number): (init: ProcessFacts) => boolean {
  let activeAt = performance.now();
  let lookedAt = activeAt;
  let printed = 0;
  let ticks = 0;
  return (init) => {
    const now = performance.now();
    if (now - lookedAt < idleMs / looksInIdleTime) return false;
    lookedAt = now;
    const worked = ticksOf(init);
    if (worked !== ticks || printedBytes() !== printed) activeAt = now;
    [ticks, printed] = [worked, printedBytes()];
    return now - activeAt >= idleMs;
  };
}

/** TERM to all but the init and the supervisor below it, whose end would end the rest at once. */
function terminateTree(init: ProcessFacts | null): void {
  if (init === null) return;
  const supervisor = findSupervisor(init);
  for (const { pid } of descendantsOf(init.pid)) if (pid !== supervisor?.pid) sendSignal(pid, "SIGTERM");
}
