import type { ApprovalId, JsonObject, RunId } from "../../domain/index.ts";
import { recordExpiry } from "../../gateway/index.ts";
import type { Queue, Transaction } from "../../store/index.ts";
import type { KeptWhileWaiting } from "../resume.ts";
import type { RunDeps } from "../run-deps.ts";
import { recordWaiting } from "../run-record.ts";
import type { Session } from "../session.ts";
import type { Live } from "./end.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { runJob } from "./hand-over.ts";
import { putQuestions, type WaitingQuestion, waitingQuestions } from "./put-questions.ts";

/**
 * Gives a run back because it waits for a person: the questions and the status comment first, then the entry, the free lease and the
 * job that comes when the first question expires, all in one transaction. An answer that came meanwhile brings the job at once.
 */
export async function waitForAnswers(
  deps: GithubRunDeps,
  { job, reporter, lost }: Live,
  session: Session,
  known: Pick<KeptWhileWaiting, "phase" | "before">,
): Promise<{ readonly kind: "waiting" }> {
  const questions = await putQuestions(deps, job, lost);
  reporter.show({ waitingFor: questions, used: session.used });
  await reporter.settled();
  const kept: KeptWhileWaiting = {
    phase: known.phase,
    before: known.before,
    elapsedMs: deps.clock() - session.startedAtMs,
    outputBytes: session.output.usedBytes,
  };
  const evidence: JsonObject = { approvals: questions.map(({ approvalId }) => approvalId) };
  const texts = { while_waiting: JSON.stringify(kept) };
  const queue = await deps.store.queue();
  await recordWaiting(deps, session, { evidence, texts }, async (tx) => {
    const asked = [...session.waitingFor, ...questions.map(({ approvalId }) => approvalId)];
    const isDue = questions.length === 0 || (await mustGoOn(tx, session.run.runId, asked));
    await tx
      .updateTable("runs")
      .set({ status: isDue ? "queued" : "waiting", lease_owner: null, lease_expires_at: null })
      .where("run_id", "=", session.run.runId)
      .where("fencing_token", "=", session.lease.fencingToken)
      .execute();
    await enqueueAt(queue, tx, session.run.runId, isDue ? 0 : untilFirst(deps, questions));
  });
  return { kind: "waiting" };
}

/** Whether a question was answered, or the run is to stop, before it came to wait. */
async function mustGoOn(tx: Transaction, runId: RunId, asked: readonly ApprovalId[]): Promise<boolean> {
  const run = await tx.selectFrom("runs").select("stop_requested_at").where("run_id", "=", runId).executeTakeFirst();
  if (run?.stop_requested_at != null) return true;
  const answers = await tx
    .selectFrom("approval_answers")
    .select("approval_id")
    .where("approval_id", "in", asked)
    .execute();
  return answers.length > 0;
}

const enqueueAt = (queue: Pick<Queue, "enqueue">, tx: Transaction, runId: RunId, startAfterMs: number) =>
  queue.enqueue(tx, runJob, { runId }, { key: runId, startAfterMs });

/** The queue counts whole seconds by the database's clock: a second more, so that the question is over when its job comes. */
function untilFirst({ clock }: Pick<RunDeps, "clock">, questions: readonly WaitingQuestion[]): number {
  const first = Math.min(...questions.map(({ expiresAt }) => Date.parse(expiresAt)));
  return Math.max(0, first - clock()) + 1_000;
}

/** Brings a run back that waits, within the transaction of the answer; one that a worker still has is left to it. */
export async function wakeRun(queue: Pick<Queue, "enqueue">, tx: Transaction, runId: RunId): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ status: "queued" })
    .where("run_id", "=", runId)
    .where("status", "=", "waiting")
    .execute();
  await queue.enqueue(tx, runJob, { runId }, { key: runId, priority: 1 });
}

/** What is due of a run that waits: questions whose time is over end by the run clock (AUD-38), and its job comes again for the rest. */
export async function lookAtQuestions(deps: RunDeps, runId: RunId): Promise<void> {
  const queue = await deps.store.queue();
  const questions = await waitingQuestions(deps, runId);
  const isOver = ({ expiresAt }: WaitingQuestion): boolean => Date.parse(expiresAt) <= deps.clock();
  const run = await deps.store.db
    .selectFrom("runs")
    .select(["run_id as runId", "trace_id as traceId", "attempt"])
    .where("run_id", "=", runId)
    .executeTakeFirstOrThrow();
  for (const question of questions.filter(isOver)) {
    await recordExpiry(deps, { ...question, run }, (tx) => wakeRun(queue, tx, runId)).catch(async (error: unknown) => {
      const open = await waitingQuestions(deps, runId);
      if (open.some(({ approvalId }) => approvalId === question.approvalId)) throw error; // else an answer was faster
    });
  }
  if (questions.some(isOver)) return;
  await deps.store.transaction(async (tx) => {
    // None is open: whoever closed the last one was cut off before the run was woken.
    if (questions.length === 0) await wakeRun(queue, tx, runId);
    else await enqueueAt(queue, tx, runId, untilFirst(deps, questions));
  });
}
