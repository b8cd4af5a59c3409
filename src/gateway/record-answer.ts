import {
  type ActionOutcome,
  type ActionState,
  type Actor,
  type ApprovalId,
  assertNever,
  type JsonObject,
  type NewEntry,
  plainEntry,
  type Refusal,
  showHidden,
} from "../domain/index.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, refusalResult, resultBytes } from "./outcome.ts";
import { type ApprovalAnswer, type AskedQuestion, closeQuestion } from "./pending-approval.ts";
import { approvalDenied, approvalExpired } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, encode, stepOf } from "./trail.ts";

type Granted = Extract<ApprovalAnswer, { readonly actor: Actor }>;

/** A yes becomes durable before anything is looked at again. */
export async function recordGrant(
  deps: GatewayDeps,
  run: RunContext,
  { approvalId, trail }: AskedQuestion,
  { actor, reason }: Granted,
): Promise<void> {
  const evidence = { approvalId, channel: run.approvalChannel };
  const step = stepOf(run, trail, "approval_granted", { evidence, actor, texts: { reason: encode(reason) } });
  const closed = closeQuestion({ approvalId, answer: "granted", deliveryId: null, nowMs: deps.clock() });
  await deps.ledger.append(run.lease, batchOf([step]), closed);
}

/** Why a question ends without the action. `late`: an answer that came after the time, if there was one. */
export type No =
  | { readonly kind: "refused"; readonly actor: Actor; readonly reason: string }
  | { readonly kind: "expired"; readonly late: ApprovalAnswer }
  | { readonly kind: "superseded"; readonly binding: string; readonly before: string; readonly after: string };

/** Makes a no durable, and words it for the model. */
export async function recordNo(
  deps: GatewayDeps,
  run: RunContext,
  question: AskedQuestion,
  no: No,
): Promise<ActionOutcome> {
  const { trail, parsed, decision, approvalId } = question;
  const { state, evidence, refusal } = describeNo(question, no);
  const result = refusalResult(deps, trail, parsed, refusal);
  const texts = { result: resultBytes(result), ...(no.kind === "refused" ? { reason: encode(no.reason) } : {}) };
  const common = { evidence: { approvalId, channel: run.approvalChannel, ...evidence }, texts };
  const step = no.kind === "refused" ? { ...common, actor: no.actor } : common;
  const isAnswer = trail.approvalId === null && no.kind !== "superseded"; // a yes that came before is the one answer
  const answer = { approvalId, answer: no.kind as "refused" | "expired", deliveryId: null, nowMs: deps.clock() };
  const closed = isAnswer ? closeQuestion(answer) : undefined;
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, state, step)]), closed);
  return outcomeOf(deps, run, trail, { state, parsed, result, decision });
}

export function describeNo(
  { policyIds, expiresAt }: Pick<AskedQuestion, "policyIds" | "expiresAt">,
  no: No,
): { readonly state: ActionState; readonly evidence: JsonObject; readonly refusal: Refusal } {
  switch (no.kind) {
    case "refused":
      return {
        state: "approval_refused",
        evidence: {},
        refusal: approvalDenied(policyIds, showHidden(no.reason).text),
      };
    case "expired": {
      const lateAnswer = no.late.kind === "expired" ? null : { kind: no.late.kind, actor: actorOf(no.late) };
      const refusal = approvalExpired(policyIds, `the time that ended at ${expiresAt}`);
      return { state: "approval_expired", evidence: { expiresAt, lateAnswer }, refusal };
    }
    case "superseded": {
      const { binding, before, after } = no;
      const refusal = approvalDenied(policyIds, `what was approved has changed since: ${binding}`);
      return { state: "approval_superseded", evidence: { binding, before, after }, refusal };
    }
    default:
      return assertNever(no);
  }
}

/** Whatever a person typed as an id: one that is none could be any text, and stays out of the log. */
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** An answer to a question that is not open changes nothing, and is on record all the same (AUD-39). */
export async function recordIgnoredAnswer(
  deps: GatewayDeps,
  run: RunContext,
  approvalId: ApprovalId,
  answer: ApprovalAnswer,
): Promise<void> {
  const entry: NewEntry = {
    ...plainEntry,
    type: "run",
    runId: run.runId,
    attempt: run.attempt,
    traceId: run.traceId,
    actor: actorOf(answer),
    evidence: {
      kind: "answer_ignored",
      approvalId: idForm.test(approvalId) ? approvalId : null,
      answer: answer.kind,
      channel: run.approvalChannel,
    },
  };
  await deps.ledger.append(run.lease, { entries: [entry], sealed: [] });
}

const actorOf = (answer: ApprovalAnswer): Actor => (answer.kind === "expired" ? { kind: "system" } : answer.actor);
