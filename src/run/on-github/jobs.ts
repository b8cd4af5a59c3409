import { parseRunId, type RunId } from "../../domain/index.ts";
import { answerDelivery, answerJob } from "./answer-delivery.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { runJob } from "./hand-over.ts";
import { isAbandoned } from "./take-run.ts";
import { workOnRun } from "./work-on-run.ts";

/** Until a run is asked about again whose repository or installation has as many as it may have. */
const busyMs = 5_000;
const longestWaitMs = 60_000;

/**
 * Takes runs off the queue until the signal is aborted, several at a time; returns when those in hand have ended or were given
 * back. `onTrouble` hears of a run that could not be gone on with now: its job comes again.
 */
export async function workOnJobs(
  deps: GithubRunDeps,
  onTrouble: (line: string, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const queue = await deps.store.queue();
  await bringBack(deps);
  const work = async (data: { readonly [name: string]: unknown }, jobSignal: AbortSignal): Promise<void> => {
    const runId = parseRunId(String(data["runId"]));
    if (runId === null) return;
    try {
      const worked = await workOnRun(deps, runId, jobSignal);
      if (worked.kind === "busy") await comeAgain(deps, runId, busyMs);
      if (worked.kind === "held") await comeAgain(deps, runId, Date.parse(worked.until) - deps.clock() + 1_000);
    } catch (error) {
      onTrouble(`run ${runId} rests: its job comes again`, error);
      throw error;
    }
  };
  const places = deps.operator.concurrency.runsPerInstallation;
  const answer = (data: { readonly [name: string]: unknown }, jobSignal: AbortSignal): Promise<void> =>
    answerDelivery(deps, String(data["deliveryId"]), jobSignal);
  const working = Array.from({ length: places }, () => queue.work(runJob, work, signal));
  await Promise.all([...working, queue.work(answerJob, answer, signal)]);
}

/**
 * Puts runs back on the queue that nobody works on: their worker is gone, or their job is. One job too many does no harm: who
 * has the lease works, the other waits.
 */
async function bringBack(deps: GithubRunDeps): Promise<readonly RunId[]> {
  const rows = await deps.store.db
    .selectFrom("runs")
    .select(["run_id", "status", "lease_owner", "lease_expires_at"])
    .where("status", "in", ["queued", "in_progress"])
    .where("installation_id", "is not", null)
    .execute();
  const left = rows.filter((row) => row.status === "queued" || isAbandoned(deps, row));
  for (const { run_id } of left) await comeAgain(deps, run_id, 0);
  return left.map(({ run_id }) => run_id);
}

async function comeAgain(deps: GithubRunDeps, runId: RunId, afterMs: number): Promise<void> {
  const queue = await deps.store.queue();
  const startAfterMs = Math.min(longestWaitMs, Math.max(0, afterMs));
  await deps.store.transaction((tx) => queue.enqueue(tx, runJob, { runId }, { startAfterMs }));
}
