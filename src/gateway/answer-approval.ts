import { type ActionOutcome, type ApprovalId, CountersignError } from "../domain/index.ts";
import { takeFacts, toRequests } from "./facts.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type ApprovalAnswer, type AskedQuestion, bindingsOf, commitBinding } from "./pending-approval.ts";
import { carryOut } from "./perform.ts";
import { recordGrant, recordIgnoredAnswer, recordNo } from "./record-answer.ts";
import { cancelOnThrow } from "./record-cancelled.ts";
import type { RunContext } from "./run-context.ts";

/**
 * Takes a person's answer to the outcome of the action: the first valid answer wins, an expired or outdated approval
 * changes nothing in the checkout. Throws `APPROVAL_NOT_OPEN`, with an entry, where the id is unknown or was answered
 * before.
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
    await recordIgnoredAnswer(deps, run, approvalId, answer);
    throw new CountersignError("APPROVAL_NOT_OPEN", `no open approval \`${approvalId}\` in run \`${run.runId}\``);
  }
  deps.openQuestions.delete(approvalId); // single use: whatever comes next, this question is answered
  const question = { ...pending, policyIds: pending.decision.policyIds };
  const isLate = deps.clock() >= Date.parse(pending.expiresAt);
  if (answer.kind === "expired" || isLate) return recordNo(deps, run, question, { kind: "expired", late: answer });
  if (answer.kind === "refused") return recordNo(deps, run, question, { ...answer, kind: "refused" });

  await recordGrant(deps, run, question, answer);
  return carryOutApproved(deps, run, question, signal);
}

/**
 * What a person said yes to, if it still is what they saw: all that the approval binds to is compared once more, and the policies
 * are asked anew (AUD-35, AUD-36).
 */
export async function carryOutApproved(
  deps: GatewayDeps,
  run: RunContext,
  question: AskedQuestion,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { approvalId, parsed } = question;
  const trail = { ...question.trail, approvalId };
  const approved = { ...question, trail };
  const changed = await cancelOnThrow(deps, run, trail, signal)(() => changedBinding(deps, run, approved));
  if (changed !== null) return recordNo(deps, run, approved, { kind: "superseded", ...changed });
  return carryOut(deps, run, { trail, parsed }, signal);
}

/** The first bound value that is no longer what was approved, or null. The policies are asked anew for their digests. */
export async function changedBinding(
  deps: GatewayDeps,
  run: RunContext,
  { trail, parsed, bindings }: Pick<AskedQuestion, "trail" | "parsed" | "bindings">,
): Promise<{ readonly binding: string; readonly before: string; readonly after: string } | null> {
  const facts = await takeFacts(run, parsed);
  if (facts.kind === "refused") {
    const { content } = bindings;
    const before = commitBinding(trail, content);
    return { binding: "path", before, after: commitBinding(trail, "outside") };
  }
  const decision = deps.authorize(toRequests(run, parsed, facts, false), run.repositoryPolicies);
  const now = await bindingsOf(run, trail, { parsed, facts, decision });
  for (const binding of Object.keys(bindings)) {
    const before = commitBinding(trail, bindings[binding]);
    const after = commitBinding(trail, now[binding]);
    if (before !== after) return { binding, before, after };
  }
  return null;
}
