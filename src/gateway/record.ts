import {
  type ActionOutcome,
  type ChangeSet,
  canonicalBytes,
  type Decision,
  type JsonObject,
  newApprovalId,
  type Refusal,
} from "../domain/index.ts";
import type { AuthorizedAction, WithheldAction } from "./authorized-action.ts";
import { authorizedSteps, decisionStep } from "./batches.ts";
import type { Execution } from "./execute.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, refusalOutcome } from "./outcome.ts";
import type { ParsedAction } from "./parse.ts";
import { bindingsOf, openApproval, type PendingApproval } from "./pending-approval.ts";
import { presentRefusal } from "./refusal-text.ts";
import { approvalUnavailable, notExecuted, policyDenied } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { sealedChangeSet } from "./sealed-change-set.ts";
import { batchOf, commitArguments, digestOf, stepOf, type Trail } from "./trail.ts";

function refusalResult(refusal: Refusal): Uint8Array {
  const { text, record } = presentRefusal(refusal);
  return canonicalBytes({ text, record });
}

/** What ended before its effect: at parse, or because a fact or a precondition does not hold. */
export type RefusedStep = {
  readonly stage: "parse" | "validate";
  readonly refusal: Refusal;
  /** Where the JSON gate has a code of its own. */
  readonly code?: string;
  readonly position?: string | null;
  readonly parsed: ParsedAction | null;
  readonly authorized: AuthorizedAction | null;
};

/** A proposal that ended before its effect. */
export async function recordRefused(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { stage, refusal, code, position, parsed, authorized }: RefusedStep,
): Promise<ActionOutcome> {
  const evidence: JsonObject = {
    stage,
    code: code ?? refusal.code,
    position: position ?? null,
    remedyCode: refusal.code,
    argumentsDigest: digestOf(run, trail, parsed?.canonical ?? null),
  };
  const isUndecided = parsed !== null && authorized === null;
  const texts = { ...(isUndecided ? { arguments: parsed.canonical } : {}), result: refusalResult(refusal) };
  // An approved action whose path now leads elsewhere is no longer what was approved.
  const state = trail.approvalId !== null && authorized === null ? "approval_superseded" : "invalid";
  const decided = authorized === null ? [] : authorizedSteps(run, trail, authorized);
  await deps.ledger.append(run.lease, batchOf([...decided, stepOf(run, trail, state, { evidence, texts })]));
  return refusalOutcome(deps, run, trail, { state, parsed, refusal, decision: authorized?.decision ?? null });
}

/** What the decision withheld: a denial, a question, or a denial because nobody can be asked. */
export async function recordWithheld(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  withheld: WithheldAction,
): Promise<ActionOutcome> {
  if (withheld.kind === "approval_pending" && run.approvalChannel !== "none") {
    return askForApproval(deps, run, trail, withheld);
  }
  const { parsed, decision } = withheld;
  const refusal =
    withheld.kind === "denied" ? deniedBy(decision) : approvalUnavailable(decision.policyIds[0] ?? "default_deny");
  const evidence = {
    code: refusal.code,
    argumentsCommitment: commitArguments(trail, parsed.canonical),
    argumentsDigest: digestOf(run, trail, parsed.canonical),
  };
  const denied = { evidence, texts: { result: refusalResult(refusal) }, decisionId: decision.decisionId };
  const steps = [decisionStep(run, trail, parsed, decision), stepOf(run, trail, "denied", denied)];
  await deps.ledger.append(run.lease, batchOf(steps));
  return refusalOutcome(deps, run, trail, { state: "denied", parsed, refusal, decision });
}

/** The deciding policies' own advice is what is allowed instead. */
function deniedBy({ policyIds, advice, errors }: Decision): Refusal {
  const reason = errors.length > 0 ? "the policies could not be evaluated" : "the policy forbids it";
  return policyDenied(policyIds, reason, Object.values(advice).join(" "));
}

async function askForApproval(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  { parsed, facts, decision }: WithheldAction,
): Promise<ActionOutcome> {
  const approvalId = newApprovalId(deps);
  const bindings = await bindingsOf(run, trail, { parsed, facts, decision });
  const expiresAt = new Date(deps.clock() + deps.approvalExpiresAfterMs).toISOString();
  const pending: PendingApproval = { approvalId, trail, parsed, facts, decision, bindings, expiresAt };
  const texts = { bindings: canonicalBytes(bindings) };
  const evidence = { approvalId, expiresAt, risk: facts.risk, argumentsDigest: digestOf(run, trail, parsed.canonical) };
  const asked = { evidence, texts, decisionId: decision.decisionId };
  const steps = [decisionStep(run, trail, parsed, decision), stepOf(run, trail, "approval_pending", asked)];
  await deps.ledger.append(run.lease, batchOf(steps), openApproval(run, pending));
  deps.openQuestions.set(approvalId, pending);
  const text = `waiting: a person is asked for ${parsed.proposed.tool} (approval ${approvalId})`;
  return outcomeOf(deps, run, trail, {
    state: "approval_pending",
    status: "refused",
    text,
    parsed,
    decision,
    approvalId,
  });
}

/** A run that is being stopped starts nothing more. */
export async function recordCancelled(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  action: AuthorizedAction,
): Promise<ActionOutcome> {
  const { parsed, decision } = action;
  const call = { tool: parsed.proposed.tool, arguments: parsed.arguments };
  const refusal = notExecuted(call, "the run is being stopped");
  const cancelled = { evidence: { cause: "stop" }, texts: { result: refusalResult(refusal) } };
  const steps = [...authorizedSteps(run, trail, action), stepOf(run, trail, "cancelled", cancelled)];
  await deps.ledger.append(run.lease, batchOf(steps));
  return refusalOutcome(deps, run, trail, { state: "cancelled", parsed, refusal, decision });
}

/** The outcome, with commitments to the result and to what changed; then the error of an outcome that is not known. */
export async function recordExecution(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  execution: Execution,
): Promise<ActionOutcome> {
  if (execution.kind !== "executed") return recordFailure(deps, run, trail, execution);
  const { presented, changeSet, evidence } = execution.executed;
  const result = canonicalBytes({ text: presented.text, record: presented.record });
  const succeeded = {
    try: 1,
    evidence: {
      ...evidence,
      status: presented.status,
      code: presented.refusal?.code ?? null,
      durationMs: execution.durationMs,
      resultSizeBytes: result.byteLength,
      changedCount: changeSet?.changes.length ?? 0,
    },
    texts: { result, ...changeText(changeSet) },
  };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "succeeded", succeeded)]));
  if (changeSet !== null) run.onRecordedChange(trail.proposed.actionId, changeSet);
  const { parsed, decision } = execution.ready.authorized;
  const { status, text, record, refusal } = presented;
  const told = { status, text, record, refusal, changeSet, durationMs: execution.durationMs };
  return outcomeOf(deps, run, trail, { state: "succeeded", parsed, decision, ...told });
}

const changeText = (changeSet: ChangeSet | null): Readonly<Record<string, Uint8Array>> =>
  changeSet === null || changeSet.changes.length === 0 ? {} : { change_set: sealedChangeSet(changeSet) };

async function recordFailure(
  deps: GatewayDeps,
  run: RunContext,
  trail: Trail,
  execution: Exclude<Execution, { readonly kind: "executed" }>,
): Promise<never> {
  const isCertain = execution.kind === "not_done";
  const evidence: JsonObject = isCertain
    ? { errorCode: execution.error.code, proof: "the sandbox did not start" }
    : { cause: "crash" };
  const step = stepOf(run, trail, isCertain ? "failed_definite" : "unknown", { evidence, try: 1 });
  await deps.ledger.append(run.lease, batchOf([step]));
  throw execution.error;
}
