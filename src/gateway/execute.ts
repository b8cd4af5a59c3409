import { type CountersignError, isCountersignError } from "../domain/index.ts";
import type { Effected, ReadyAction } from "./validate.ts";

/** How the effect ended, as far as can be known. */
export type Execution = { readonly ready: ReadyAction; readonly durationMs: number } & (
  | { readonly kind: "executed"; readonly executed: Effected }
  /** Nothing was done, and that is certain. */
  | { readonly kind: "not_done"; readonly error: CountersignError }
  /** It can't be said whether anything was done; `error` goes on to the caller once this is recorded. */
  | { readonly kind: "unknown"; readonly error: unknown }
);

/** The only act with an effect. Never throws: what went wrong is recorded first. */
export async function execute(ready: ReadyAction, signal: AbortSignal): Promise<Execution> {
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  try {
    const executed = await ready.effect(signal);
    return { kind: "executed", ready, durationMs: durationMs(), executed };
  } catch (error) {
    // A sandbox that did not start has done nothing; whatever else was thrown says nothing about the effect.
    const isDefinite = isCountersignError(error, "SANDBOX_FAILED") || isCountersignError(error, "BUBBLEWRAP_MISSING");
    if (isDefinite) return { kind: "not_done", ready, durationMs: durationMs(), error };
    return { kind: "unknown", ready, durationMs: durationMs(), error };
  }
}
