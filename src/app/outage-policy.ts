import { statfs } from "node:fs/promises";
import { CountersignError, type Risk } from "../domain/index.ts";
import type { OperatorSettings } from "../policy/index.ts";

/** What runs gets this long once the service is to end for an outage (AUD-52). */
const endAfterMs = 30_000;

/** Below this no run is taken (AUD-58). */
export const leastFreeBytes = 256 * 1024 * 1024;

/** What an outage of the log means for a worker, by the risk of what could not be recorded. */
export type OutagePolicy = Disposable & {
  readonly onUnrecorded: (risk: Risk) => void;
  readonly isEnding: () => boolean;
  /** Resolves once the time of what ran is over; never where the service goes on. */
  readonly ended: Promise<CountersignError>;
};

export function openOutagePolicy(
  { failurePolicy }: Pick<OperatorSettings, "failurePolicy">,
  forMs: number = endAfterMs,
): OutagePolicy {
  const { promise: ended, resolve } = Promise.withResolvers<CountersignError>();
  let timer: NodeJS.Timeout | null = null;
  return {
    onUnrecorded: (risk) => {
      if (timer !== null || failurePolicy[risk] !== "shutdown") return;
      const message = `an action of risk ${risk} could not be recorded, and \`failure_policy\` is \`shutdown\``;
      timer = setTimeout(() => resolve(new CountersignError("LEDGER_UNAVAILABLE", message)), forMs);
    },
    isEnding: () => timer !== null,
    ended,
    [Symbol.dispose]: () => {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Free bytes for this user on the disk of a folder. Throws what the file system throws. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
