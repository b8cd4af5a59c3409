import {
  type ActionOutcome,
  canonicalBytes,
  type Decision,
  type JsonObject,
  newApprovalId,
  type Refusal,
} from "../domain/index.ts";
import type { AuthorizedAction, WithheldAction } from "./authorized-action.ts";
import { approvalUse, authorizedSteps, decisionStep } from "./batches.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { outcomeOf, refusalResult, resultBytes } from "./outcome.ts";
import type { ParsedAction } from "./parse.ts";
import {
  type AskedQuestion,
  bindingsOf,
  openApproval,
  type PendingApproval,
  type QuestionText,
} from "./pending-approval.ts";
import { approvalUnavailable, policyDenied } from "./refusals.ts";
import { resultText } from "./result-text.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, commitArguments, digestOf, encode, stepOf, type Trail } from "./trail.ts";

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
  const result = refusalResult(deps, trail, parsed, refusal);
  const evidence: JsonObject = {
    stage,
    code: code ?? refusal.code,
    position: position ?? null,
    remedyCode: refusal.code,
    argumentsDigest: digestOf(run, trail, parsed?.canonical ?? null),
  };
  const isUndecided = parsed !== null && authorized === null;
  const texts = { ...(isUndecided ? { arguments: parsed.canonical } : {}), result: resultBytes(result) };
  // An approved action whose path now leads elsewhere is no longer what was approved.
  const state = trail.approvalId !== null && authorized === null ? "approval_superseded" : "invalid";
  const decided = authorized === null ? [] : authorizedSteps(run, trail, authorized);
  const batch = batchOf([...decided, stepOf(run, trail, state, { evidence, texts })]);
  await deps.ledger.append(run.lease, batch, authorized === null ? undefined : approvalUse(trail));
  return outcomeOf(deps, run, trail, { state, parsed, result, decision: authorized?.decision ?? null });
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
  const { parsed, decision, facts } = withheld;
  const refusal =
    withheld.kind === "denied" ? deniedBy(decision) : approvalUnavailable(decision.policyIds[0] ?? "default_deny");
  const result = refusalResult(deps, trail, parsed, refusal);
  const evidence = {
    code: refusal.code,
    argumentsCommitment: commitArguments(trail, parsed.canonical),
    argumentsDigest: digestOf(run, trail, parsed.canonical),
    risk: facts.risk,
  };
  const denied = { evidence, texts: { result: resultBytes(result) }, decisionId: decision.decisionId };
  const steps = [decisionStep(run, trail, parsed, decision), stepOf(run, trail, "denied", denied)];
  await deps.ledger.append(run.lease, batchOf(steps));
  return outcomeOf(deps, run, trail, { state: "denied", parsed, result, decision });
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
  // Whoever puts the question, and whoever takes the action up again, may have nothing but the record: what this run had read too (ACI-39).
  const told = { advice: decision.advice, paths: facts.paths.map(({ resolved }) => resolved) };
  const question: QuestionText = { ...told, remembered: run.fingerprints.remembered() };
  const texts = { bindings: canonicalBytes(bindings), question: encode(JSON.stringify(question)) };
  const evidence = { approvalId, expiresAt, risk: facts.risk, argumentsDigest: digestOf(run, trail, parsed.canonical) };
  const asked = { evidence, texts, decisionId: decision.decisionId };
  const steps = [decisionStep(run, trail, parsed, decision), stepOf(run, trail, "approval_pending", asked)];
  await deps.ledger.append(run.lease, batchOf(steps), openApproval(run, pending));
  if (run.approvalChannel === "terminal") deps.openQuestions.set(approvalId, pending);
  return waitingOutcome(deps, run, { ...pending, policyIds: decision.policyIds });
}

/** What is told of an action that waits for a person. */
export function waitingOutcome(deps: GatewayDeps, run: RunContext, question: AskedQuestion): ActionOutcome {
  const { approvalId, trail, parsed, decision } = question;
  const words = `waiting: a person is asked for ${parsed.proposed.tool} (approval ${approvalId})`;
  const result = { status: "refused", text: resultText("refused", words, []), record: {}, refusal: null } as const;
  return outcomeOf(deps, run, trail, { state: "approval_pending", parsed, result, decision, approvalId });
}
