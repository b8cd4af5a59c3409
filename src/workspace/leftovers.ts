import { descendantsOf, findSupervisor, isGone, type ProcessFacts, readProcess, sendSignal } from "./process-tree.ts";

/** How often is looked whether the command has ended and left something behind. Costs one read of `/proc`. */
const lookEveryMs = 25;
/** What ends by itself while the pipes drain is no leftover (ACI-59). */
const endsByItselfMs = 100;
/** Names are chosen by whoever runs, and so is their number: what is told of them has an end. */
const namedAtMost = 20;
/** As many as the kernel keeps of a name. */
const nameBytesAtMost = 15;

/**
 * Puts the names of processes that outlive the command into `killed`, then lets the supervisor go on, whose end ends them.
 * Throws out of no timer: what it can't look for is told to `fail`. Returns what stops the looking.
 */
export function nameLeftovers(
  init: Promise<ProcessFacts | null>,
  killed: string[],
  fail: (cause: unknown) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    clearInterval(timer);
  };
  void init.then((root) => {
    if (root === null || isStopped) return;
    const look = lookAfter(root, killed);
    timer = setInterval(() => {
      try {
        look();
      } catch (cause) {
        stop();
        fail(cause);
      }
    }, lookEveryMs);
  });
  return stop;
}

/**
 * The supervisor stops itself once the command has ended and others still live. Any process inside can stop it, too: so a stopped one
 * counts only where its one child, the command, is gone, and leftovers are named once.
 */
function lookAfter(root: ProcessFacts, killed: string[]): () => void {
  let supervisor: ProcessFacts | null = null;
  let stoppedAt: number | null = null;
  let areNamed = false;
  return () => {
    supervisor ??= findSupervisor(root);
    if (supervisor === null) return;
    const { pid: own } = supervisor;
    if (readProcess(own)?.state !== "T") {
      stoppedAt = null;
      return;
    }
    stoppedAt ??= performance.now();
    const living = descendantsOf(root.pid).filter(({ pid, startTime }) => pid !== own && !isGone(pid, startTime));
    const hasEnded = living.every(({ parentPid }) => parentPid !== own);
    if (hasEnded && living.length > 0 && performance.now() - stoppedAt < endsByItselfMs) return;
    if (hasEnded && !areNamed) {
      killed.push(...namesOf(living));
      areNamed = true;
    }
    sendSignal(own, "SIGCONT");
  };
}

/** The last one says how many more there are, in a sign that no name holds. */
function namesOf(processes: readonly ProcessFacts[]): readonly string[] {
  const names = processes.slice(0, namedAtMost).map(({ name }) => visibleName(name));
  const rest = processes.length - names.length;
  return rest === 0 ? names : [...names, `\u2026 and ${rest} more`];
}

/** Visible ASCII and blanks; every other byte, and the backslash that tells of it, as `\xNN`. */
const visibleName = (name: string): string =>
  name
    .slice(0, nameBytesAtMost)
    .replace(/[^\x20-\x5b\x5d-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
