import { type CountersignError, isCountersignError } from "../domain/index.ts";
import type { Unfinished } from "./action-description.ts";
import { requireSealed } from "./authorized-action.ts";
import { finishResult } from "./outcome.ts";
import type { Effected } from "./settlement.ts";
import type { Trail } from "./trail.ts";
import type { ReadyAction } from "./validate.ts";

/** How the effect ended, as far as can be known. `error` goes on to the caller once this is recorded. */
export type Execution = { readonly ready: ReadyAction; readonly durationMs: number } & (
  | { readonly kind: "executed"; readonly executed: Effected }
  /** Nothing was done, and that is certain. `proof` says why. */
  | { readonly kind: "not_done"; readonly error: unknown; readonly proof: string }
  /** The other side refused it, or it was never sent: an outcome, not a throw. */
  | { readonly kind: "not_applied"; readonly error: CountersignError }
  /** The answer of the other side was lost: settled by looking there. */
  | LostAnswer
  /** It can't be said whether anything was done. */
  | { readonly kind: "unknown"; readonly error: unknown }
);

export type LostAnswer = {
  readonly kind: "lost";
  readonly cause: Extract<Unfinished, { readonly kind: "unknown" }>["cause"];
  readonly error: CountersignError;
};

/** The only act with an effect. What goes wrong in it is told, not thrown: it is recorded first. Throws for a forged action alone. */
export async function execute(trail: Trail, ready: ReadyAction, signal: AbortSignal): Promise<Execution> {
  requireSealed(ready.authorized);
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  if (signal.aborted) {
    const proof = "the run was stopped before the effect began";
    return { kind: "not_done", ready, durationMs: 0, error: signal.reason, proof };
  }
  try {
    const effected = await ready.effect(signal);
    if ("kind" in effected) return { ready, durationMs: durationMs(), ...unfinished(effected) };
    const presented = finishResult(trail, ready.authorized.parsed, durationMs(), effected.presented);
    return { kind: "executed", ready, durationMs: durationMs(), executed: { ...effected, presented } };
  } catch (error) {
    // A sandbox that did not start has done nothing; whatever else was thrown says nothing about the effect.
    const isDefinite = isCountersignError(error, "SANDBOX_FAILED") || isCountersignError(error, "BUBBLEWRAP_MISSING");
    if (isDefinite) {
      return { kind: "not_done", ready, durationMs: durationMs(), error, proof: "the sandbox did not start" };
    }
    return { kind: "unknown", ready, durationMs: durationMs(), error };
  }
}

const unfinished = (effect: Unfinished) =>
  effect.kind === "unknown" ? ({ ...effect, kind: "lost" } as const) : effect;
