import { descendantsOf, findSupervisor, isGone, type ProcessFacts, readProcess, sendSignal } from "./process-tree.ts";

/** How often is looked whether the command has ended and left something behind. Costs one read of `/proc`. */
const lookEveryMs = 25;
/** What ends by itself while the pipes drain is no leftover (ACI-59). */
const endsByItselfMs = 100;
/** A command can stop the supervisor itself, again and again, and start what it likes: each is named once, and not all. */
const namesAtMost = 100;

/**
 * Puts the names of processes that outlive the command into `killed`, each once and at most 100, then lets the supervisor go on, whose end ends them.
 * Returns what stops the looking.
 */
export function nameLeftovers(init: Promise<ProcessFacts | null>, killed: string[]): () => void {
  let supervisor: ProcessFacts | null = null;
  let stoppedAt: number | null = null;
  const named = new Set<string>();
  const look = (root: ProcessFacts): void => {
    supervisor ??= findSupervisor(root);
    if (supervisor === null || readProcess(supervisor.pid)?.state !== "T") return;
    const self = supervisor;
    stoppedAt ??= performance.now();
    const living = descendantsOf(root.pid).filter(({ pid, startTime }) => pid !== self.pid && !isGone(pid, startTime));
    if (living.length > 0 && performance.now() - stoppedAt < endsByItselfMs) return;
    for (const { pid, startTime, name } of living) {
      const process = `${pid}.${startTime}`;
      if (named.size >= namesAtMost || named.has(process)) continue;
      named.add(process);
      killed.push(name.replace(/\p{Cc}/gu, "\u{FFFD}"));
    }
    stoppedAt = null;
    sendSignal(self.pid, "SIGCONT");
  };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  void init.then((root) => {
    if (root !== null && !isStopped) timer = setInterval(() => look(root), lookEveryMs);
  });
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
