import { setTimeout } from "node:timers/promises";

/** Waits; rejects with the signal's reason at once when it is aborted. */
export async function delay(waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await setTimeout(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}
