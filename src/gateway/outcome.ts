import type { ActionOutcome, ActionState, Clock, Decision, Refusal } from "../domain/index.ts";
import type { ParsedAction } from "./parse.ts";
import { presentRefusal } from "./refusal-text.ts";
import type { RunContext } from "./run-context.ts";
import { digestOf, type Trail } from "./trail.ts";

/** The outcome of an action that did nothing. */
export function refusalOutcome(
  deps: { readonly clock: Clock },
  run: RunContext,
  trail: Trail,
  facts: {
    readonly state: ActionState;
    readonly parsed: ParsedAction | null;
    readonly refusal: Refusal;
    readonly decision: Decision | null;
  },
): ActionOutcome {
  const { status, text, record } = presentRefusal(facts.refusal);
  return outcomeOf(deps, run, trail, { ...facts, status, text, record });
}

type OutcomeFacts = Pick<ActionOutcome, "state" | "status" | "text" | "decision"> &
  Partial<Pick<ActionOutcome, "record" | "refusal" | "approvalId" | "changeSet" | "durationMs">> & {
    readonly parsed: ParsedAction | null;
  };

/** An outcome with what most of them have in common filled in. */
export function outcomeOf(
  deps: { readonly clock: Clock },
  run: RunContext,
  trail: Trail,
  facts: OutcomeFacts,
): ActionOutcome {
  const { proposed } = trail;
  const { parsed, ...given } = facts;
  return {
    actionId: proposed.actionId,
    tool: proposed.tool,
    record: {},
    refusal: null,
    approvalId: null,
    changeSet: null,
    durationMs: Math.max(0, deps.clock() - trail.startedAtMs),
    argumentsDigest: digestOf(run, trail, parsed?.canonical ?? null),
    ...given,
  };
}
