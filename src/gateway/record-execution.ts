import { type ActionOutcome, type ChangeSet, isCountersignError, type JsonObject } from "../domain/index.ts";
import type { Execution } from "./execute.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, resultBytes } from "./outcome.ts";
import type { RunContext } from "./run-context.ts";
import { sealedChangeSet } from "./sealed-change-set.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** The outcome, with commitments to the result and to what changed; then the error of an outcome that is not known. */
export async function recordExecution(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  execution: Execution,
): Promise<ActionOutcome> {
  if (execution.kind !== "executed") return recordFailure(deps, run, trail, execution);
  const { ready, durationMs } = execution;
  const { presented, changeSet, evidence } = execution.executed;
  const result = resultBytes(presented);
  const succeeded = {
    try: 1,
    evidence: {
      ...evidence,
      status: presented.status,
      code: presented.refusal?.code ?? null,
      durationMs,
      resultSizeBytes: result.byteLength,
      changedCount: changeSet?.changes.length ?? 0,
    },
    texts: { result, ...changeText(changeSet) },
  };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "succeeded", succeeded)]));
  if (changeSet !== null) run.onRecordedChange(trail.proposed.actionId, changeSet);
  const { parsed, decision } = ready.authorized;
  return outcomeOf(deps, run, trail, {
    state: "succeeded",
    parsed,
    result: presented,
    decision,
    changeSet,
    durationMs,
  });
}

const changeText = (changeSet: ChangeSet | null): Readonly<Record<string, Uint8Array>> =>
  changeSet === null || changeSet.changes.length === 0 ? {} : { change_set: sealedChangeSet(changeSet) };

async function recordFailure(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  execution: Exclude<Execution, { readonly kind: "executed" }>,
): Promise<never> {
  const { error } = execution;
  const errorCode = isCountersignError(error) ? error.code : null;
  const isCertain = execution.kind === "not_done";
  const evidence: JsonObject = isCertain ? { errorCode, proof: execution.proof } : { cause: "crash", errorCode };
  const step = stepOf(run, trail, isCertain ? "failed_definite" : "unknown", { evidence, try: 1 });
  await deps.ledger.append(run.lease, batchOf([step]));
  throw error;
}
