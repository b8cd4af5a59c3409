import type { ActionOutcome, ActionState, JsonObject, Refusal } from "../domain/index.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { refusalOutcome } from "./outcome.ts";
import type { ApprovalAnswer, PendingApproval } from "./pending-approval.ts";
import { approvalDenied, approvalExpired } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, encode, stepOf } from "./trail.ts";

type RecordedAnswer = ApprovalAnswer | { readonly kind: "superseded"; readonly binding: string };

/** Makes an answer durable. What it returns stands for the action unless it was granted. */
export async function recordAnswer(
  deps: GatewayDeps,
  run: RunContext,
  pending: PendingApproval,
  answer: RecordedAnswer,
): Promise<ActionOutcome> {
  const { trail, parsed, decision, approvalId } = pending;
  const { state, evidence, refusal } = describeAnswer(pending, answer);
  const isPersons = answer.kind === "granted" || answer.kind === "refused";
  const persons = isPersons ? { actor: answer.actor, texts: { reason: encode(answer.reason) } } : {};
  const step = { evidence: { approvalId, channel: run.approvalChannel, ...evidence }, ...persons };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, state, step)]));
  return refusalOutcome(deps, run, trail, { state, parsed, refusal, decision });
}

function describeAnswer(
  pending: PendingApproval,
  answer: RecordedAnswer,
): { readonly state: ActionState; readonly evidence: JsonObject; readonly refusal: Refusal } {
  const { policyIds } = pending.decision;
  switch (answer.kind) {
    case "granted":
      return { state: "approval_granted", evidence: {}, refusal: approvalDenied(policyIds, "") };
    case "refused":
      return { state: "approval_refused", evidence: {}, refusal: approvalDenied(policyIds, answer.reason) };
    case "expired": {
      const { expiresAt } = pending;
      return { state: "approval_expired", evidence: { expiresAt }, refusal: approvalExpired(policyIds, expiresAt) };
    }
    case "superseded": {
      const reason = `what was approved has changed since: ${answer.binding}`;
      const evidence = { binding: answer.binding };
      return { state: "approval_superseded", evidence, refusal: approvalDenied(policyIds, reason) };
    }
  }
}
