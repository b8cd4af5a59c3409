import {
  type ActionOutcome,
  type ActionState,
  type ChangeSet,
  type CountersignError,
  type Decision,
  isCountersignError,
  type JsonObject,
} from "../domain/index.ts";
import { boundedEvidence } from "./bounded-evidence.ts";
import type { Execution, LostAnswer } from "./execute.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { finishResult, outcomeOf, resultBytes } from "./outcome.ts";
import type { ParsedAction } from "./parse.ts";
import { presentRefusal } from "./refusal-text.ts";
import { githubFailed } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { sealedChangeSet } from "./sealed-change-set.ts";
import type { Effected } from "./settlement.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** What is known once the answer is there. */
type KnownExecution = Exclude<Execution, LostAnswer>;

/** The outcome, with commitments to the result and to what changed; then the error of an outcome that is not known. */
export function recordExecution(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { execution, number }: { readonly execution: KnownExecution; readonly number: number },
): Promise<ActionOutcome> {
  const { parsed, decision } = execution.ready.authorized;
  const { durationMs } = execution;
  switch (execution.kind) {
    case "executed": {
      const ending = { state: "succeeded", effected: execution.executed, durationMs, number } as const;
      return recordEffect(deps, run, trail, { ...ending, parsed, decision, evidence: {} });
    }
    case "not_applied": {
      const { error } = execution;
      const proof = "it was never sent, or refused by a definite answer";
      const evidence = { errorCode: error.code, proof, github: error.details };
      const ending = { state: "failed_definite", error, evidence, number } as const;
      return recordNotApplied(deps, run, trail, { ...ending, parsed, decision });
    }
    default:
      return recordThrown(deps, run, trail, { execution, number });
  }
}

/** What an effect that is known came to: by its own answer, or by looking. */
export type KnownEffect = {
  readonly state: Extract<ActionState, "succeeded" | "reconciled_applied">;
  readonly effected: Effected;
  readonly evidence: JsonObject;
  readonly durationMs: number;
  readonly number: number;
  readonly parsed: ParsedAction;
  readonly decision: Decision | null;
};

export async function recordEffect(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { state, effected, evidence, durationMs, number, parsed, decision }: KnownEffect,
): Promise<ActionOutcome> {
  const { presented, changeSet } = effected;
  const result = resultBytes(presented);
  const bounded = boundedEvidence(effected.evidence);
  const known = {
    try: number,
    evidence: {
      ...bounded.evidence,
      ...evidence,
      status: presented.status,
      code: presented.refusal?.code ?? null,
      durationMs,
      resultSizeBytes: result.byteLength,
      changedCount: changeSet?.changes.length ?? 0,
      ...hiddenCountOf(presented),
    },
    texts: { result, ...changeText(changeSet), ...bounded.texts },
  };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, state, known)]));
  if (changeSet !== null) run.onRecordedChange(trail.proposed.actionId, changeSet);
  return outcomeOf(deps, run, trail, { state, parsed, result: presented, decision, changeSet, durationMs });
}

/** Said where there is something to say: hidden code points in what the model was shown (SEC-15, SEC-16). */
const hiddenCountOf = ({ record: { hidden_count: count } }: Effected["presented"]): JsonObject =>
  typeof count === "number" && count > 0 ? { hiddenCount: count } : {};

const changeText = (changeSet: ChangeSet | null): Readonly<Record<string, Uint8Array>> =>
  changeSet === null || changeSet.changes.length === 0 ? {} : { change_set: sealedChangeSet(changeSet) };

/** What was not done, for certain: by a definite answer, or by looking. */
export type NotApplied = {
  readonly state: Extract<ActionState, "failed_definite" | "reconciled_not_applied">;
  readonly error: Pick<CountersignError, "code" | "remedy">;
  readonly evidence: JsonObject;
  readonly number: number;
  readonly parsed: ParsedAction;
  readonly decision: Decision | null;
};

export async function recordNotApplied(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { state, error, evidence, number, parsed, decision }: NotApplied,
): Promise<ActionOutcome> {
  const own = { result: {}, error_code: error.code };
  const presented = presentRefusal(githubFailed(parsed.proposed.tool, error), "failed", own);
  const result = finishResult(trail, parsed, Math.max(0, deps.clock() - trail.startedAtMs), presented);
  const step = stepOf(run, trail, state, { evidence, texts: { result: resultBytes(result) }, try: number });
  await deps.ledger.append(run.lease, batchOf([step]));
  return outcomeOf(deps, run, trail, { state, parsed, result, decision });
}

async function recordThrown(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  thrown: {
    readonly execution: Extract<KnownExecution, { readonly kind: "not_done" | "unknown" }>;
    readonly number: number;
  },
): Promise<never> {
  const { execution, number } = thrown;
  const { error } = execution;
  const errorCode = isCountersignError(error) ? error.code : null;
  const isCertain = execution.kind === "not_done";
  const evidence: JsonObject = isCertain ? { errorCode, proof: execution.proof } : { cause: "crash", errorCode };
  const step = stepOf(run, trail, isCertain ? "failed_definite" : "unknown", { evidence, try: number });
  await deps.ledger.append(run.lease, batchOf([step]));
  throw error;
}
