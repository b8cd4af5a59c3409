import { recordHandOver } from "../run-record.ts";
import { settleCutOffActions } from "../settle-open-actions.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";

/** The queue's name of the job that works on a run; its data is `{ runId }`. */
export const runJob = "run";

/**
 * Gives a run back, whole, because this process ends: its actions are brought to rest, its lease and its row are free, and its
 * job stands in the queue again, all at once. No attempt is counted (GH-35); the work begins anew from the same base.
 */
export async function handOver(deps: GithubRunDeps, { row, lease }: GithubJob): Promise<void> {
  const run = { runId: row.run_id, traceId: row.trace_id, attempt: row.attempt };
  await settleCutOffActions(deps, run, lease, "shutdown");
  const queue = await deps.store.queue();
  await recordHandOver(deps, run, lease, async (tx) => {
    await queue.enqueue(tx, runJob, { runId: run.runId }, { key: run.runId });
  });
}
