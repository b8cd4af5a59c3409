import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError } from "../domain/index.ts";
import type { Confinement } from "./confinement.ts";
import { isGone, sendSignal } from "./process-tree.ts";
import type { SandboxStatus } from "./sandbox-status.ts";

/** How long PID namespace and group may take to empty (SEC-58). */
const emptyWithinMs = 5000;

/** SEC-58. The init of a PID namespace is gone only when nothing else lives in it (pid_namespaces(7)). */
export async function waitUntilEmpty(
  child: ChildProcess,
  status: SandboxStatus,
  confinement: Pick<Confinement, "isEmpty" | "kill">,
): Promise<void> {
  const init = await status.init;
  const startedAt = performance.now();
  /** What is still in the sandbox, in words; null: nothing. Asked for more, it also kills. */
  const left = (kill: boolean): string | null => {
    if (status.failure() !== null) return "who its first process was is not known";
    if (init !== null && !isGone(init.pid, init.startTime)) {
      if (kill) sendSignal(init.pid, "SIGKILL"); // bubblewrap's parent-death signal should have done it
      return `process ${init.pid} lives`;
    }
    if (confinement.isEmpty()) return null;
    if (kill) confinement.kill();
    return "its control group is not empty";
  };
  for (let pauseMs = 0; ; pauseMs = Math.min(20, pauseMs + 1)) {
    const what = orUnknown(() => left(pauseMs > 2));
    if (what === null) break;
    if (performance.now() - startedAt > emptyWithinMs) {
      throw new CountersignError("WORKSPACE_POISONED", `the sandbox did not end within 5 s: ${what}`);
    }
    await delay(pauseMs);
  }
  child.removeAllListeners();
}

/** Whether something lives that can't be looked at is not known: it counts as living. */
function orUnknown(look: () => string | null): string | null {
  try {
    return look();
  } catch (error) {
    return `whether it is empty can't be told: ${(error as Error).message}`;
  }
}

/** Why a command was ended that no limit ended. */
export const unwatched = (cause: unknown): CountersignError =>
  new CountersignError("SANDBOX_FAILED", `the sandbox was ended, since it could not be watched: ${messageOf(cause)}`, {
    cause,
    remedy: "give the service more open files (`ulimit -n`), then start the run again",
  });

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
