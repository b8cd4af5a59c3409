import { type ActionOutcome, type ApprovalId, CountersignError } from "../domain/index.ts";
import { takeFacts } from "./facts.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type ApprovalAnswer, bindingsOf, type PendingApproval } from "./pending-approval.ts";
import { carryOut } from "./perform.ts";
import { recordAnswer } from "./record-answer.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Takes a person's answer to the outcome of the action: the first valid answer wins, an expired or outdated approval
 * changes nothing in the checkout. Throws `APPROVAL_NOT_OPEN` where the id is unknown or was answered before.
 */
export async function answerApproval(
  deps: GatewayDeps,
  run: RunContext,
  approvalId: ApprovalId,
  answer: ApprovalAnswer,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const pending = deps.openQuestions.get(approvalId);
  if (pending === undefined || pending.trail.proposed.runId !== run.runId) {
    throw new CountersignError("APPROVAL_NOT_OPEN", `no open approval \`${approvalId}\` in run \`${run.runId}\``);
  }
  deps.openQuestions.delete(approvalId); // single use: whatever comes next, this question is answered
  const isLate = deps.clock() >= Date.parse(pending.expiresAt);
  if (answer.kind === "expired" || isLate) return recordAnswer(deps, run, pending, { kind: "expired" });
  if (answer.kind === "refused") return recordAnswer(deps, run, pending, answer);

  const changed = await changedBinding(run, pending);
  if (changed !== null) return recordAnswer(deps, run, pending, { kind: "superseded", binding: changed });
  await recordAnswer(deps, run, pending, answer);
  return carryOut(deps, run, { trail: { ...pending.trail, approvalId }, parsed: pending.parsed }, signal);
}

/** The name of the first bound value that is no longer what was approved, or null. */
async function changedBinding(run: RunContext, pending: PendingApproval): Promise<string | null> {
  const facts = await takeFacts(run, pending.parsed);
  if (facts.kind === "refused") return "path";
  const now = await bindingsOf(run, pending.trail, { ...pending, facts });
  const differs = (name: string): boolean => JSON.stringify(now[name]) !== JSON.stringify(pending.bindings[name]);
  return Object.keys(pending.bindings).find(differs) ?? null;
}
