import type { ActionOutcome, ProposedAction } from "../domain/index.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, refusalResult } from "./outcome.ts";
import { auditUnavailable } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { openTrail } from "./trail.ts";

/**
 * What the model is told of an action that was not executed because it could not be recorded (AUD-53): an outcome that
 * stands in no ledger and names no entry. `state` is the last that may be on record.
 */
export function unrecordedOutcome(
  deps: Pick<GatewayDeps, "clock" | "randomBytes">,
  run: RunContext,
  proposed: ProposedAction,
): ActionOutcome {
  const trail = openTrail(deps.randomBytes, proposed, deps.clock());
  const result = refusalResult(deps, trail, null, auditUnavailable(null));
  return outcomeOf(deps, run, trail, { state: "proposed", parsed: null, result, decision: null });
}
