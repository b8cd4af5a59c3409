import { type ActionOutcome, type CancelCause, isCountersignError, type JsonObject } from "../domain/index.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import { approvalUse, authorizedSteps } from "./batches.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, refusalResult, resultBytes } from "./outcome.ts";
import { notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** Why a signal stops a run, in the ledger's words. */
const causeOf = ({ reason }: AbortSignal): CancelCause =>
  isCountersignError(reason, "TIME_LIMIT") ? "budget" : "stop";

/** The same of what was thrown before the effect. */
function causeOfThrown(error: unknown): CancelCause {
  if (isCountersignError(error, "PAUSED")) return "paused";
  return isCountersignError(error, "ABORTED") ? "stop" : "crash";
}

/** A run that is being stopped starts nothing more. */
export async function recordCancelled(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { action, signal }: { readonly action: AuthorizedAction; readonly signal: AbortSignal },
): Promise<ActionOutcome> {
  const { parsed, decision } = action;
  const call = { tool: parsed.proposed.tool, arguments: parsed.arguments };
  const result = refusalResult(deps, trail, parsed, notExecuted(call, "the run is being stopped"));
  const cancelled = { evidence: { cause: causeOf(signal) }, texts: { result: resultBytes(result) } };
  const steps = [...authorizedSteps(run, trail, action), stepOf(run, trail, "cancelled", cancelled)];
  await deps.ledger.append(run.lease, batchOf(steps), approvalUse(trail));
  return outcomeOf(deps, run, trail, { state: "cancelled", parsed, result, decision });
}

/**
 * Runs an act that comes before the effect. Where it throws, the action is recorded as cancelled, since nothing was done,
 * and the error goes on to the caller.
 */
export function cancelOnThrow(deps: GatewayDeps, run: RunContext, trail: Trail, signal: AbortSignal) {
  return async <Value>(act: () => Value | Promise<Value>): Promise<Value> => {
    try {
      return await act();
    } catch (error) {
      const evidence: JsonObject = {
        cause: signal.aborted ? causeOf(signal) : causeOfThrown(error),
        errorCode: isCountersignError(error) ? error.code : null,
      };
      await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "cancelled", { evidence })]));
      throw error;
    }
  };
}
