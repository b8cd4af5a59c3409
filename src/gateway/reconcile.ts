import type { ActionOutcome } from "../domain/index.ts";
import { startedStep } from "./batches.ts";
import { type Execution, execute, type LostAnswer } from "./execute.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { lookInRounds, maxRounds, type OpenTry } from "./look-in-rounds.ts";
import { recordExecution } from "./record-execution.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** How often one action is started at most: again only once it is known that nothing was done (AUD-65). */
const maxTries = 3;

type Ending = { readonly trail: Trail; readonly execution: Execution; readonly intentAt: string };

/**
 * Records how the effect ended. A lost answer becomes `unknown` and is settled by looking; where nothing was done, the next
 * try may start under the same natural key. INVARIANT: nothing is sent again before it was looked for
 * (test/gateway/reconcile.test.ts).
 */
export async function settle(
  deps: GatewayDeps,
  run: RunContext,
  { trail, execution: first, intentAt }: Ending,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  let execution = first;
  for (let number = 1; ; number += 1) {
    if (execution.kind !== "lost") return recordExecution(deps, run, trail, { execution, number });
    const { cause, error } = execution;
    const lost = { evidence: { cause, errorCode: error.code, github: error.details }, try: number };
    await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "unknown", lost)]));
    const open = openTry(execution, intentAt, number);
    const outcome = await lookInRounds(deps, run, { trail, open }, signal);
    if (outcome.state !== "reconciled_not_applied" || number >= maxTries) return outcome;
    signal.throwIfAborted(); // at rest: nothing was done, and nothing more is begun
    await deps.ledger.append(run.lease, batchOf([startedStep(run, trail, number + 1)]));
    execution = await execute(trail, execution.ready, signal);
  }
}

function openTry({ ready, error }: Execution & LostAnswer, sinceIso: string, number: number): OpenTry {
  const { settlement, authorized } = ready;
  if (settlement === null) throw new Error("an answer was lost of an action that can't be looked for");
  const { parsed, decision } = authorized;
  return { parsed, decision, settlement, sinceIso, number, error, firstRound: 1, lastRound: maxRounds };
}
