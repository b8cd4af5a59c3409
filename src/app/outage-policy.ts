import { statfs } from "node:fs/promises";
import { CountersignError, type Risk } from "../domain/index.ts";
import type { OperatorSettings } from "../policy/index.ts";
import { refuseFullDisk } from "../store/index.ts";

/** What runs gets this long at most once the service is to end for an outage (AUD-52). */
const endAfterMs = 30_000;

/** Below this no run is taken (AUD-58). */
export const leastFreeBytes = 256 * 1024 * 1024;

/** What an outage of the log means for a worker, by the risk of what could not be recorded. */
export type OutagePolicy = Disposable & {
  readonly onUnrecorded: (risk: Risk) => void;
  readonly isEnding: () => boolean;
  /** Counts a run as at work until it is disposed: one that rests for the outage does nothing more that could be waited for. */
  readonly atWork: () => Disposable;
  /** Resolves once nothing is at work, or its time is over; never where the service goes on. */
  readonly ended: Promise<CountersignError>;
};

export function openOutagePolicy(
  { failurePolicy }: Pick<OperatorSettings, "failurePolicy">,
  forMs: number = endAfterMs,
): OutagePolicy {
  const { promise: ended, resolve } = Promise.withResolvers<CountersignError>();
  let ending: { readonly cause: CountersignError; readonly timer: NodeJS.Timeout } | null = null;
  let atWorkCount = 0;
  const endIfIdle = (): void => {
    if (ending !== null && atWorkCount === 0) resolve(ending.cause);
  };
  return {
    onUnrecorded: (risk) => {
      if (ending !== null || failurePolicy[risk] !== "shutdown") return;
      const message = `an action of risk ${risk} could not be recorded, and \`failure_policy\` is \`shutdown\``;
      const cause = new CountersignError("LEDGER_UNAVAILABLE", message);
      ending = { cause, timer: setTimeout(() => resolve(cause), forMs) };
      endIfIdle();
    },
    isEnding: () => ending !== null,
    atWork: () => {
      const work = new DisposableStack();
      atWorkCount += 1;
      work.defer(() => {
        atWorkCount -= 1;
        endIfIdle();
      });
      return work;
    },
    ended,
    [Symbol.dispose]: () => clearTimeout(ending?.timer),
  };
}

/** Throws `DISK_FULL` where a command that is a run of its own may not take it (AUD-58). */
export const requireRoomForRun = (home: string): Promise<void> => refuseFullDisk(home, leastFreeBytes);

/** Free bytes for this user on the disk of a folder. Throws what the file system throws. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
