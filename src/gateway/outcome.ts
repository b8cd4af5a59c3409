import { type ActionOutcome, canonicalBytes, type Decision, type Refusal } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { ParsedAction } from "./parse.ts";
import { presentRefusal } from "./refusal-text.ts";
import { completeRecord } from "./result-record.ts";
import type { RunContext } from "./run-context.ts";
import { soundResult } from "./sound-result.ts";
import { digestOf, type Trail } from "./trail.ts";

/**
 * A result with its whole record, which fits the tool's output schema (ACI-4). Throws a plain `Error` where the tool's own
 * words do not fit it: a bug. A call of an unknown tool has no schema to fit.
 */
export function finishResult(
  trail: Trail,
  parsed: ParsedAction | null,
  durationMs: number,
  presented: Presented,
): Presented {
  const facts = {
    tool: trail.proposed.tool,
    actionId: trail.proposed.actionId,
    startedAt: new Date(trail.startedAtMs).toISOString(),
    durationMs,
    replayed: false,
  };
  const sound = soundResult({ ...presented, record: completeRecord(presented, facts) });
  return { ...sound, record: parsed === null ? sound.record : parsed.action.Record.parse(sound.record) };
}

/** The result of an action that did nothing: what is sealed and what is told are one. */
export function refusalResult(
  deps: Pick<GatewayDeps, "clock">,
  trail: Trail,
  parsed: ParsedAction | null,
  refusal: Refusal,
): Presented {
  return finishResult(trail, parsed, Math.max(0, deps.clock() - trail.startedAtMs), presentRefusal(refusal));
}

/** A result as the bytes that are sealed and committed to. */
export const resultBytes = ({ text, record }: Presented): Uint8Array => canonicalBytes({ text, record });

type OutcomeFacts = Pick<ActionOutcome, "state"> &
  Partial<Pick<ActionOutcome, "approvalId" | "changeSet" | "durationMs">> & {
    readonly parsed: ParsedAction | null;
    readonly result: Presented;
    readonly decision: Decision | null;
  };

/** An outcome with what most of them have in common filled in. */
export function outcomeOf(
  deps: Pick<GatewayDeps, "clock">,
  run: RunContext,
  trail: Trail,
  facts: OutcomeFacts,
): ActionOutcome {
  const { proposed } = trail;
  const { parsed, result, ...given } = facts;
  return {
    actionId: proposed.actionId,
    tool: proposed.tool,
    ...result,
    approvalId: null,
    changeSet: null,
    durationMs: Math.max(0, deps.clock() - trail.startedAtMs),
    argumentsDigest: digestOf(run, trail, parsed?.canonical ?? null),
    ...given,
  };
}
