import {
  type ActionId,
  type ActionOutcome,
  type ApprovalId,
  type JsonObject,
  parseStrictJson,
} from "../domain/index.ts";
import { carryOutApproved, changedBinding } from "./answer-approval.ts";
import { seal } from "./authorized-action.ts";
import { startedStep } from "./batches.ts";
import { execute } from "./execute.ts";
import { takeFacts, toRequests } from "./facts.ts";
import { outcomeOf, refusalResult } from "./outcome.ts";
import { type ParsedAction, parse } from "./parse.ts";
import type { AskedQuestion } from "./pending-approval.ts";
import { type RecoveryDeps, readStoredAction, type StoredAction } from "./reconcile-open.ts";
import { waitingOutcome } from "./record.ts";
import { describeNo, type No, recordNo } from "./record-answer.ts";
import { recordExecution } from "./record-execution.ts";
import { recordedOutcome } from "./recorded-outcome.ts";
import { notExecuted } from "./refusals.ts";
import { requireGoing } from "./require-going.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf } from "./trail.ts";
import { validate } from "./validate.ts";

/**
 * Goes on with an action that an earlier worker of the run proposed (AUD-66): a question that is open goes on waiting, a yes is
 * carried out if what it binds to still is what it was, a no and every recorded outcome are told again. An edit or a read that was
 * cut off starts again as its next try; of a command the model is told. Throws `KEYS_UNUSABLE` where the record can't be opened,
 * and the signal's reason before anything is recorded.
 */
export async function takeUp(
  deps: RecoveryDeps,
  run: RunContext,
  actionId: ActionId,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  signal.throwIfAborted();
  const stored = await readStoredAction(deps, actionId);
  const read = parse(deps.catalogue, stored.trail.proposed);
  const parsed = read.kind === "parsed" ? read : null;
  const question = parsed === null ? null : questionOf(stored, parsed);
  switch (stored.state) {
    case "approval_pending":
      return waitingOutcome(deps, run, required(question));
    case "approval_granted":
      return goOn(deps, run, required(question), signal);
    case "approval_refused":
    case "approval_expired":
    case "approval_superseded":
      return tellNo(deps, run, required(question), stored);
    case "reconciled_not_applied":
      if (parsed?.action.group === "write" || parsed?.action.group === "read")
        return startAgain(deps, run, { stored, parsed, question }, signal);
      return recordedOutcome(run, { trail: stored.trail, parsed }, stored);
    default:
      return recordedOutcome(run, { trail: stored.trail, parsed }, stored);
  }
}

/**
 * Whether the yes that an action was carried out with would be one today: nothing that it was bound to has changed since (AUD-35).
 * Throws as `takeUp`.
 */
export async function isYesUnchanged(deps: RecoveryDeps, run: RunContext, actionId: ActionId): Promise<boolean> {
  const stored = await readStoredAction(deps, actionId);
  const parsed = parse(deps.catalogue, stored.trail.proposed);
  const question = parsed.kind === "parsed" ? questionOf(stored, parsed) : null;
  const isUsed = stored.entries.some(({ state }) => state === "authorized");
  return question !== null && isUsed && (await changedBinding(deps, run, question)) === null;
}

function required(question: AskedQuestion | null): AskedQuestion {
  if (question === null) throw new Error("an answer is on record of an action that nobody was asked about");
  return question;
}

/** What was asked, as the entry of the question and its sealed bindings have it; null where nobody was asked. */
function questionOf({ trail, entries, texts }: StoredAction, parsed: ParsedAction): AskedQuestion | null {
  const asked = entries.find(({ state }) => state === "approval_pending");
  const sealed = texts.find(({ field }) => field === "bindings")?.bytes ?? null;
  if (asked === undefined || sealed === null) return null;
  const { approvalId, expiresAt } = asked.evidence;
  const decided = entries.find(({ type, decisionId }) => type === "decision" && decisionId === asked.decisionId);
  return {
    approvalId: String(approvalId) as ApprovalId,
    trail,
    parsed,
    bindings: bindingsIn(sealed),
    expiresAt: String(expiresAt),
    policyIds: (decided?.evidence["policyIds"] ?? []) as readonly string[],
    decision: null,
  };
}

function bindingsIn(bytes: Uint8Array): JsonObject {
  const read = parseStrictJson(bytes);
  if (read.kind === "refused") throw new Error(`sealed bindings that the gate refuses: \`${read.code}\``);
  return read.value as JsonObject;
}

/** A yes is used before its time is over, or not at all (AUD-38). */
function goOn(
  deps: RecoveryDeps,
  run: RunContext,
  question: AskedQuestion,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  if (deps.clock() < Date.parse(question.expiresAt)) return carryOutApproved(deps, run, question, signal);
  const granted = { ...question, trail: { ...question.trail, approvalId: question.approvalId } };
  return recordNo(deps, run, granted, { kind: "expired", late: { kind: "expired" } });
}

/** A no that is on record, in words for the model. */
function tellNo(
  deps: RecoveryDeps,
  run: RunContext,
  question: AskedQuestion,
  { state, entries, texts }: StoredAction,
): ActionOutcome {
  const { trail, parsed } = question;
  const { refusal } = describeNo(question, noOf(state, entries.at(-1)?.evidence ?? {}, texts));
  return outcomeOf(deps, run, trail, {
    state,
    parsed,
    result: refusalResult(deps, trail, parsed, refusal),
    decision: null,
  });
}

function noOf(state: StoredAction["state"], evidence: JsonObject, texts: StoredAction["texts"]): No {
  if (state === "approval_expired") return { kind: "expired", late: { kind: "expired" } };
  if (state === "approval_superseded") {
    const { binding, before, after } = evidence;
    return { kind: "superseded", binding: String(binding), before: String(before), after: String(after) };
  }
  const reason = texts.findLast(({ field }) => field === "reason")?.bytes ?? new Uint8Array();
  return { kind: "refused", actor: { kind: "system" }, reason: new TextDecoder().decode(reason) };
}

/**
 * The next try of an edit or a read whose first was cut off before it came to stand, under the same operation key (AUD-66): decided and
 * validated anew, an approved one held against its bindings once more.
 */
async function startAgain(
  deps: RecoveryDeps,
  run: RunContext,
  again: { readonly stored: StoredAction; readonly parsed: ParsedAction; readonly question: AskedQuestion | null },
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { stored, parsed, question } = again;
  const { trail } = stored;
  const call = { tool: parsed.proposed.tool, arguments: parsed.arguments };
  const notAgain = (why: string): ActionOutcome => {
    const result = refusalResult(deps, trail, parsed, notExecuted(call, why));
    return outcomeOf(deps, run, trail, { state: stored.state, parsed, result, decision: null });
  };
  const isChanged = question !== null && (await changedBinding(deps, run, question)) !== null;
  if (isChanged) return notAgain("what was approved has changed since its worker was lost");
  const authorized = await authorizeAgain(deps, run, parsed, question !== null);
  if (authorized === null) return notAgain("the policy no longer allows it");
  const ready = await validate(run, authorized, signal);
  if (ready.kind === "refused") return notAgain(ready.refusal.received);
  await requireGoing(deps, run, parsed);
  const number = stored.tries + 1;
  await deps.ledger.append(run.lease, batchOf([startedStep(run, trail, number)]));
  const execution = await execute(trail, ready, signal);
  if (execution.kind === "lost") throw new Error("an edit in the checkout has no answer to lose");
  return recordExecution(deps, run, trail, { execution, number });
}

async function authorizeAgain(deps: RecoveryDeps, run: RunContext, parsed: ParsedAction, isApproved: boolean) {
  const facts = await takeFacts(run, parsed);
  if (facts.kind === "refused") return null;
  const decision = deps.authorize(toRequests(run, parsed, facts, isApproved), run.repositoryPolicies);
  const authorized = seal(parsed, facts, decision);
  return authorized.kind === "authorized" ? authorized : null;
}
