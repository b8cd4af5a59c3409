import { setTimeout as wait } from "node:timers/promises";

/** Waits; after an abort it throws the signal's reason at once and leaves no timer behind. */
export async function delay(waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await wait(waitMs, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
