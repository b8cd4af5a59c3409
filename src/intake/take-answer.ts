import type { DeliveryCode, Requester, Risk, RunId } from "../domain/index.ts";
import { type OpenQuestion, recordPersonsAnswer } from "../gateway/index.ts";
import { readActionEntries } from "../ledger/index.ts";
import { approvalRequest } from "../policy/index.ts";
import { repositoryPoliciesOf, wakeRun } from "../run/index.ts";
import type { Transaction } from "../store/index.ts";
import { type Authority, orAborted } from "./authority.ts";
import { findCommand } from "./commands.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Ask, SignedDelivery, Wants } from "./reading.ts";
import { claimDelivery, KnownDelivery, type Outcome } from "./record-delivery.ts";

/** A command that answers a question, by a person whose permission GitHub told just now. */
export type WrittenAnswer = {
  readonly ask: Ask;
  readonly wants: Extract<Wants, { readonly kind: "approval" }>;
  readonly authority: Extract<Authority, { readonly kind: "granted" }>;
};

/** What became of it: the first valid answer is taken; any other changes nothing, and its sender is told why (AUD-39). */
export type Taken =
  | { readonly kind: "taken"; readonly outcome: Outcome }
  | {
      readonly kind: "refused";
      readonly code: Extract<
        DeliveryCode,
        `approval_${"unknown" | "foreign" | "answered" | "expired" | "closed" | "forbidden" | "withdrawn" | "unread"}`
      >;
    };

const refused = (code: Extract<Taken, { kind: "refused" }>["code"]): Taken => ({ kind: "refused", code });

/** Undoes the transaction: the run ended, or is to stop, at this moment. */
class RunClosed extends Error {}

/**
 * Takes a person's answer to a question that waits on GitHub: once, for an open question of this very issue, before its time is over,
 * and where the policy, the repository's own included, lets this person answer; a yes only while its comment stands. Throws `KnownDelivery` and what makes the answer impossible to record.
 */
export async function takeAnswer(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  answer: WrittenAnswer,
  signal: AbortSignal,
): Promise<Taken> {
  const found = await findQuestion(deps, answer.ask, answer.wants.id);
  if (found.kind !== "open") return refused(found.code);
  const { question } = found;
  const approver = approverOf(answer);
  const risk = await riskOf(deps, question);
  const repository = await repositoryPoliciesOf(deps, question.run.runId);
  const decision = deps.policies.authorize([requestOf({ ...found, risk }, approver)], repository);
  if (decision.effect !== "allow") return refused("approval_forbidden");
  const doubt = answer.wants.verb === "approve" ? await doubtOf(deps, answer, signal) : null;
  if (doubt !== null) return refused(doubt);
  const kind = answer.wants.verb === "approve" ? "granted" : "refused";
  const outcome = { result: "answered", code: `approval_${kind}`, runId: question.run.runId } as const;
  const { deliveryId } = delivery;
  const { requestId } = answer.authority;
  const given = { kind, approver, requestId, reason: answer.wants.reason, deliveryId, decision } as const;
  try {
    await recordPersonsAnswer(deps, question, given, async (tx) => {
      const settlement = { ...outcome, answer: null, detail: answer.ask.detail, businessKey: answer.ask.businessKey };
      await claimDelivery(deps, tx, { delivery, reading: answer.ask, settlement });
      await requireGoing(tx, question.run.runId);
      await wakeRun(deps.queue, tx, question.run.runId);
    });
  } catch (error) {
    if (error instanceof KnownDelivery) throw error;
    if (error instanceof RunClosed) return refused("approval_closed");
    const now = await findQuestion(deps, answer.ask, answer.wants.id); // another answer, or the clock, may have been faster
    if (now.kind === "open") throw error;
    return refused(now.code);
  }
  return { kind: "taken", outcome };
}

/**
 * A delivery may come long after its comment: what was deleted, or now says something else, is no yes, nor is what GitHub does not
 * tell of. A no needs no second look: it lets nothing happen.
 */
async function doubtOf(
  { github }: AcceptDeps,
  { ask, wants }: WrittenAnswer,
  signal: AbortSignal,
): Promise<"approval_withdrawn" | "approval_unread" | null> {
  if (ask.commentId === null) return "approval_withdrawn";
  const place = { installationId: ask.installationId, repositoryId: ask.repository.id };
  const read = github.comment(place, ask.commentId, signal);
  const comment = await orAborted(read, signal).catch(() => "unread" as const);
  if (comment === "unread") return "approval_unread";
  const now = findCommand(comment?.body ?? "");
  const stands = now.kind === "command" && now.verb === wants.verb && now.id === wants.id;
  return stands ? null : "approval_withdrawn";
}

type Found =
  | {
      readonly kind: "open";
      readonly question: OpenQuestion;
      readonly tool: string;
      readonly requestedBy: Requester;
      readonly repository: { readonly id: string; readonly name: string };
    }
  | Extract<Taken, { readonly kind: "refused" }>;

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The question as the database has it. Of another repository's nothing is told, not even that there is one. */
async function findQuestion(deps: AcceptDeps, ask: Ask, id: string): Promise<Found> {
  const no = (code: Extract<Taken, { kind: "refused" }>["code"]): Found => ({ kind: "refused", code });
  const row = uuidForm.test(id) ? await readQuestion(deps, id) : undefined;
  if (row === undefined || row.repository_id !== String(ask.repository.id)) return no("approval_unknown");
  if (row.issue_number !== ask.item.number) return no("approval_foreign");
  if (row.answer !== null) return no(row.answer === "expired" ? "approval_expired" : "approval_answered");
  if (row.state !== "approval_pending" || isOver(row)) return no("approval_closed");
  if (deps.clock() >= Date.parse(row.expires_at)) return no("approval_expired");
  return {
    kind: "open",
    question: {
      approvalId: row.approval_id,
      actionId: row.action_id,
      run: { runId: row.run_id, traceId: row.trace_id, attempt: row.attempt },
    },
    tool: row.tool ?? "",
    requestedBy: { id: row.requester_id, login: row.requester_login, permission: row.requester_permission },
    repository: { id: row.repository_id, name: row.repository_name },
  };
}

/** Also the question of a run at the terminal would be found: it has no issue, and so is foreign. */
const readQuestion = ({ store }: AcceptDeps, id: string) =>
  store.db
    .selectFrom("approvals")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .innerJoin("runs", "runs.run_id", "approvals.run_id")
    .leftJoin("approval_answers", "approval_answers.approval_id", "approvals.approval_id")
    .select([
      "approvals.approval_id",
      "approvals.action_id",
      "approvals.expires_at",
      "approval_answers.answer",
      "actions.state",
      "actions.tool",
      "runs.run_id",
      "runs.trace_id",
      "runs.attempt",
      "runs.status",
      "runs.stop_requested_at",
      "runs.repository_id",
      "runs.repository_name",
      "runs.issue_number",
      "runs.requester_id",
      "runs.requester_login",
      "runs.requester_permission",
    ])
    .where("approvals.approval_id", "=", id as never)
    .executeTakeFirst();

const isOver = (run: { readonly status: string; readonly stop_requested_at: string | null }): boolean =>
  run.status === "completed" || run.stop_requested_at !== null;

/** In the transaction of the answer, whose lock of the log no end of a run comes between. */
async function requireGoing(tx: Transaction, runId: RunId): Promise<void> {
  const run = await tx
    .selectFrom("runs")
    .select(["status", "stop_requested_at"])
    .where("run_id", "=", runId)
    .executeTakeFirst();
  if (run === undefined || isOver(run)) throw new RunClosed("the run has ended or is to stop");
}

const approverOf = ({ ask: { sender }, authority }: WrittenAnswer): Requester => ({
  id: String(sender.id),
  login: sender.login,
  permission: authority.permission,
});

/** Of the action that is asked about, as its question has it. */
async function riskOf({ store }: AcceptDeps, { actionId }: OpenQuestion): Promise<Risk> {
  const entries = await readActionEntries(store, actionId);
  const risk = entries.find(({ state }) => state === "approval_pending")?.evidence["risk"];
  return risk === "SAFE" || risk === "RESTRICTED" ? risk : "DANGEROUS";
}

/** `approve` as a request of its own: that the requester may not answer is a policy's to say (AUD-37). */
const requestOf = (
  asked: Extract<Found, { readonly kind: "open" }> & { readonly risk: Risk },
  approver: Requester,
): Parameters<AcceptDeps["policies"]["authorize"]>[0][number] =>
  approvalRequest({
    person: approver,
    question: { approvalId: asked.question.approvalId, tool: asked.tool, risk: asked.risk },
    run: {
      runId: asked.question.run.runId,
      requester: asked.requestedBy,
      repository: asked.repository,
      runState: "waiting",
      attempt: asked.question.run.attempt,
      budgetLeft: { steps: 0, tokens: 0, seconds: 0 },
    },
  });
