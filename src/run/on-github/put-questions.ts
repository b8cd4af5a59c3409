import { type ActionId, type ApprovalId, newActionId, type RunId } from "../../domain/index.ts";
import { readStoredQuestion } from "../../gateway/index.ts";
import type { RunDeps } from "../run-deps.ts";
import type { GithubJob } from "./github-job.ts";
import { writeAsHost } from "./host-actions.ts";
import { questionText } from "./question-text.ts";

/** A question that waits for its answer. */
export type WaitingQuestion = {
  readonly approvalId: ApprovalId;
  readonly actionId: ActionId;
  readonly tool: string;
  /** ISO 8601. */
  readonly expiresAt: string;
};

/** The questions of a run that nobody has answered, oldest first. */
export async function waitingQuestions(
  { store }: Pick<RunDeps, "store">,
  runId: RunId,
): Promise<readonly (WaitingQuestion & { readonly questionActionId: ActionId | null })[]> {
  const rows = await store.db
    .selectFrom("approvals")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .leftJoin("approval_answers", "approval_answers.approval_id", "approvals.approval_id")
    .select([
      "approvals.approval_id as approvalId",
      "approvals.action_id as actionId",
      "approvals.expires_at as expiresAt",
      "approvals.question_action_id as questionActionId",
      "actions.tool",
    ])
    .where("approvals.run_id", "=", runId)
    .where("actions.state", "=", "approval_pending")
    .where("approval_answers.approval_id", "is", null)
    .orderBy("actions.first_index")
    .execute();
  return rows.map(({ tool, ...row }) => ({ ...row, tool: tool ?? "" }));
}

/**
 * Puts each open question of a run as a comment of its own, once (AUD-34). The action that does it is named in the question's row
 * before it is proposed, so that a worker that comes after a crash finds it; one that was cut off before it was sent is made anew.
 * Where GitHub refuses it the status comment alone says what waits (GH-46).
 */
export async function putQuestions(
  deps: RunDeps,
  job: GithubJob,
  signal: AbortSignal,
): Promise<readonly WaitingQuestion[]> {
  const questions = await waitingQuestions(deps, job.row.run_id);
  for (const question of questions) await putOnce(deps, job, question, signal);
  return questions;
}

async function putOnce(
  deps: RunDeps,
  job: GithubJob,
  question: WaitingQuestion & { readonly questionActionId: ActionId | null },
  signal: AbortSignal,
): Promise<void> {
  const { questionActionId, approvalId, actionId: askedAbout, expiresAt } = question;
  const state = questionActionId === null ? null : await stateOf(deps, questionActionId);
  if (state !== null && state !== "cancelled") return;
  const isUnused = questionActionId !== null && state === null;
  const actionId = isUnused ? questionActionId : await nameAction(deps, approvalId);
  const stored = await readStoredQuestion(deps, askedAbout);
  const body = questionText({ ...stored, approvalId, actionId: askedAbout, expiresAt }, deps.redactor.redact);
  const args = { issue: job.trigger.item.number, body };
  await writeAsHost(deps, job.context, { tool: "create_comment", args, actionId }, signal);
}

async function stateOf({ store }: RunDeps, actionId: ActionId): Promise<string | null> {
  const found = await store.db
    .selectFrom("actions")
    .select("state")
    .where("action_id", "=", actionId)
    .executeTakeFirst();
  return found?.state ?? null;
}

async function nameAction(deps: RunDeps, approvalId: ApprovalId): Promise<ActionId> {
  const actionId = newActionId(deps);
  await deps.store.db
    .updateTable("approvals")
    .set({ question_action_id: actionId })
    .where("approval_id", "=", approvalId)
    .execute();
  return actionId;
}
