import { type ActionId, type ActionState, isCountersignError, type RunId } from "../../domain/index.ts";
import { readStoredQuestion } from "../../gateway/index.ts";
import { readActionTexts } from "../../ledger/index.ts";
import type { RunDeps } from "../run-deps.ts";
import type { GithubJob } from "./github-job.ts";
import { standingResult, writeAsHost } from "./host-actions.ts";
import { type QuestionEnd, questionText } from "./question-text.ts";

type PutQuestion = Awaited<ReturnType<typeof putQuestionsOf>>[number];

/**
 * Brings the comment of each question that is no longer open to what became of it: who answered and when, or why nobody has to any
 * more. By the record alone, so that an edit that stands is not made again, and one that was cut off is; where GitHub refused one
 * the record keeps the answer all the same (GH-46). `isOver`: the run ends, and no question is open after it.
 */
export async function tellAnswers(
  deps: RunDeps,
  job: GithubJob,
  { isOver }: { readonly isOver: boolean },
  signal: AbortSignal,
): Promise<void> {
  const runId = job.row.run_id;
  for (const question of await putQuestionsOf(deps, runId)) {
    try {
      await tellOne(deps, job, { question, isOver }, signal);
    } catch (error) {
      if (!isCountersignError(error, "KEYS_UNUSABLE")) throw error; // of an erased question nothing more is told
    }
  }
}

/** Questions that were put as comments, oldest first, with what the record says of them. */
async function putQuestionsOf({ store }: Pick<RunDeps, "store">, runId: RunId) {
  const rows = await store.db
    .selectFrom("approvals")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .leftJoin("approval_answers", "approval_answers.approval_id", "approvals.approval_id")
    .select([
      "approvals.approval_id as approvalId",
      "approvals.action_id as actionId",
      "approvals.expires_at as expiresAt",
      "approvals.question_action_id as questionActionId",
      "approval_answers.answer",
      "approval_answers.answered_at as answeredAt",
      "actions.state",
    ])
    .where("approvals.run_id", "=", runId)
    .orderBy("actions.first_index")
    .execute();
  return rows.flatMap(({ questionActionId, ...row }) =>
    questionActionId === null ? [] : { ...row, questionActionId },
  );
}

async function tellOne(
  deps: RunDeps,
  job: GithubJob,
  { question, isOver }: { readonly question: PutQuestion; readonly isOver: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { approvalId, actionId, expiresAt, questionActionId } = question;
  const end = await endOf(deps, question, isOver);
  const comment = (await standingResult(deps, questionActionId))?.["comment_id"];
  if (end === null || typeof comment !== "number") return;
  const stored = await readStoredQuestion(deps, actionId);
  const body = questionText({ ...stored, approvalId, actionId, expiresAt, end }, deps.redactor.redact);
  const edits = await editsOf(deps, job.row.run_id, comment);
  if (edits.findLast(({ state }) => state !== "cancelled")?.body === body) return;
  const args = { issue: job.trigger.item.number, comment, body, revision: edits.length + 1 };
  await writeAsHost(deps, job.context, { tool: "update_comment", args }, signal);
}

/** What became of a question; null while it is open. */
async function endOf(deps: RunDeps, question: PutQuestion, isOver: boolean): Promise<QuestionEnd | null> {
  const { answer, answeredAt, state } = question;
  if (answer === null) return isOver || state === "cancelled" ? { kind: "dropped" } : null;
  if (answer === "expired") return { kind: "expired" };
  const by = await answeredBy(deps, question.actionId);
  return { kind: answer, by, at: answeredAt ?? "", notDone: answer === "granted" ? notDoneAfterYes(state) : null };
}

/** Why what was allowed was not done all the same. */
function notDoneAfterYes(state: ActionState): Extract<QuestionEnd, { readonly at: string }>["notDone"] {
  switch (state) {
    case "approval_superseded":
      return "changed";
    case "approval_expired":
      return "late";
    case "denied":
      return "denied";
    case "cancelled":
      return "cancelled";
    default:
      return null;
  }
}

/** The login of who answered, as it was sealed with the answer; null where it is not on record. */
async function answeredBy(deps: RunDeps, actionId: ActionId): Promise<string | null> {
  const sealed = (await readActionTexts(deps, actionId)).findLast(({ field }) => field === "approver");
  if (sealed?.bytes == null) return null;
  const { login } = JSON.parse(new TextDecoder().decode(sealed.bytes)) as { readonly login?: unknown };
  return typeof login === "string" ? login : null;
}

/** The edits of a comment that the run has proposed, oldest first. */
async function editsOf(
  deps: RunDeps,
  runId: RunId,
  comment: number,
): Promise<readonly { readonly state: ActionState; readonly body: string }[]> {
  const rows = await deps.store.db
    .selectFrom("actions")
    .select(["action_id as actionId", "state"])
    .where("run_id", "=", runId)
    .where("tool", "=", "update_comment")
    .orderBy("first_index")
    .execute();
  const edits = await Promise.all(
    rows.map(async ({ actionId, state }) => {
      const raw = (await readActionTexts(deps, actionId)).find(({ field }) => field === "raw");
      const args = JSON.parse(new TextDecoder().decode(raw?.bytes ?? nothing)) as EditArguments;
      return args.comment === comment ? [{ state, body: args.body ?? "" }] : [];
    }),
  );
  return edits.flat();
}

type EditArguments = { readonly comment?: number; readonly body?: string };
const nothing = new TextEncoder().encode("{}");
