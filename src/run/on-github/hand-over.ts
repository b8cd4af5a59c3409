import { recordSpooled } from "../log-failed.ts";
import { recordHandOver } from "../run-record.ts";
import { settleCutOffActions } from "../settle-open-actions.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";

/** The queue's name of the job that works on a run; its data is `{ runId }`. */
export const runJob = "run";

/** Why a run is given back: this process ends, or the log failed and is back. */
export type HandOverCause = "shutdown" | "log_failed";

/**
 * Gives a run back, whole: its actions are brought to rest, its lease and its row are free, and its
 * job stands in the queue again, all at once. No attempt is counted (GH-35); the work begins anew from the same base.
 */
export async function handOver(deps: GithubRunDeps, { row, lease }: GithubJob, cause: HandOverCause): Promise<void> {
  const run = { runId: row.run_id, traceId: row.trace_id, attempt: row.attempt };
  await recordSpooled(deps, run, lease);
  await settleCutOffActions(deps, run, lease, cause === "shutdown" ? "shutdown" : "log_failed_before");
  const queue = await deps.store.queue();
  await recordHandOver(deps, { run, lease, cause }, async (tx) => {
    await queue.enqueue(tx, runJob, { runId: run.runId }, { key: run.runId });
  });
}
