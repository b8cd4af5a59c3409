import type { RunId } from "../../domain/index.ts";
import type { RunLease } from "../../ledger/index.ts";
import { processOwner } from "../../store/index.ts";
import { holdLease, leaseEnd } from "../lease.ts";
import { openJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { reconcileAll, standingWrites, writeAsHost } from "./host-actions.ts";
import { reactOnce } from "./react-once.ts";
import { isAbandoned, type RunRow, type WaitsFor } from "./take-run.ts";

/**
 * The first sign of life of a run that has to wait: the reaction and the status comment, which the run itself then edits
 * (GH-40, GH-41). Told once. The run stays queued, under a lease of its own meanwhile, so that nobody else tells it too.
 */
export async function tellWaiting(deps: GithubRunDeps, runId: RunId, waitsFor: WaitsFor): Promise<void> {
  if ((await standingWrites(deps, { runId }, "create_comment")).proposedCount > 0) return;
  const held = await holdQueued(deps, runId);
  if (held === null) return;
  try {
    await using renewed = holdLease(deps, held.lease, deps.times);
    const job = await openJob(deps, held.row, held.lease);
    await reconcileAll(deps, job, renewed.lost);
    await reactOnce(deps, job, renewed.lost);
    const args = { issue: job.trigger.item.number, body: waitingText(runId, waitsFor, job.trigger.byLabel) };
    await writeAsHost(deps, job.context, { tool: "create_comment", args }, renewed.lost);
  } finally {
    await letGo(deps, held.lease);
  }
}

function waitingText(runId: RunId, waitsFor: WaitsFor, byLabel: boolean): string {
  const stop = byLabel ? "remove the label, or comment `/countersign stop`" : "comment `/countersign stop`";
  return [
    `**Countersign** waits: ${causeOf(waitsFor)}.`,
    `To stop it: ${stop}. Record: \`countersign runs show ${runId}\`.`,
  ].join("\n\n");
}

function causeOf(waitsFor: WaitsFor): string {
  switch (waitsFor.kind) {
    case "run":
      return `waiting for run \`${waitsFor.runId}\` in this repository to end`;
    case "installation":
      return "as many runs of this installation are under way as may be at once";
    case "place":
      return "all places for runs are taken";
    case "disk":
      return "the disk of its worker is nearly full";
    case "ending":
      return "its worker ends, and takes no more";
    case "pause":
      return "it is paused by its operator";
  }
}

/** The lease of a run that stays queued; null where it is no longer, or somebody has it. */
async function holdQueued(
  deps: GithubRunDeps,
  runId: RunId,
): Promise<{ readonly row: RunRow; readonly lease: RunLease } | null> {
  const row = await deps.store.db.selectFrom("runs").selectAll().where("run_id", "=", runId).executeTakeFirst();
  if (row === undefined || row.status !== "queued" || !isAbandoned(deps, row)) return null;
  const lease = { runId, fencingToken: row.fencing_token + 1 };
  const { numUpdatedRows } = await deps.store.db
    .updateTable("runs")
    .set({
      fencing_token: lease.fencingToken,
      lease_owner: processOwner(),
      lease_expires_at: leaseEnd(deps.clock(), deps.times.leaseMs),
    })
    .where("run_id", "=", runId)
    .where("status", "=", "queued")
    .where("fencing_token", "=", row.fencing_token)
    .executeTakeFirst();
  return numUpdatedRows === 1n ? { row, lease } : null;
}

async function letGo({ store }: GithubRunDeps, lease: RunLease): Promise<void> {
  await store.db
    .updateTable("runs")
    .set({ lease_owner: null, lease_expires_at: null })
    .where("run_id", "=", lease.runId)
    .where("status", "=", "queued")
    .where("fencing_token", "=", lease.fencingToken)
    .execute();
}
