import { isCountersignError, type RunId, type TraceId } from "../domain/index.ts";
import { openSealedChangeSet } from "../gateway/index.ts";
import { readRunChangeSets } from "../ledger/index.ts";
import { ownerState, processOwner } from "../store/index.ts";
import { diffStat } from "./diff-stat.ts";
import { takeOver } from "./lease.ts";
import { recordedChanges } from "./recorded-changes.ts";
import type { RunDeps } from "./run-deps.ts";
import { recordEnd } from "./run-record.ts";
import { settleOpenActions } from "./settle-open-actions.ts";

type InterruptedRun = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly attempt: number;
  readonly fencingToken: number;
  readonly leaseOwner: string | null;
  readonly leaseExpiresAt: string | null;
  readonly repositoryId: string;
  readonly baseSha: string;
};

const interruptedSummary = {
  title: "",
  summary: "",
  cause: "the process that worked on it ended without settling it",
  leftOut: [],
  refusedCauses: [],
};

/**
 * Settles runs whose worker is gone: their open actions are brought to rest and the patch is made from the recorded change
 * sets, so that no recorded work is lost. A local run is not gone on with: its terminal is gone as well.
 * Answers with one line a run.
 */
export async function settleInterrupted(deps: RunDeps): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const run of await interruptedRuns(deps)) {
    const lease = await takeOver(deps, { ...run, owner: processOwner() });
    if (lease === null) continue;
    const taken = { ...run, attempt: run.attempt + 1 };
    const openCount = await settleOpenActions(deps, taken, lease, "crash");
    // A mirror that is gone or damaged must not keep the run from being settled: the recorded change sets stay.
    const patch = await patchOf(deps, run).catch((error: unknown) => {
      if (!isCountersignError(error)) throw error;
      return null;
    });
    await recordEnd(deps, taken, lease, {
      conclusion: "failure",
      stopReason: null,
      evidence: { cause: "crash", openActionCount: openCount, ...diffStat(patch ?? "") },
      texts: { patch: patch ?? "", summary: JSON.stringify(interruptedSummary) },
    });
    lines.push(
      `run ${run.runId} had been interrupted and is settled (${openCount} open actions); ${kept(run.runId, patch)}`,
    );
  }
  return lines;
}

function kept(runId: RunId, patch: string | null): string {
  if (patch === null) return "its patch can't be made: the mirror of its repository is gone";
  return patch === "" ? "nothing had changed" : `its patch: countersign runs patch ${runId}`;
}

async function interruptedRuns(deps: RunDeps): Promise<readonly InterruptedRun[]> {
  const rows = await deps.store.db
    .selectFrom("runs")
    .select([
      "run_id as runId",
      "trace_id as traceId",
      "attempt",
      "fencing_token as fencingToken",
      "lease_owner as leaseOwner",
      "lease_expires_at as leaseExpiresAt",
      "repository_id as repositoryId",
      "base_sha as baseSha",
    ])
    .where("status", "=", "in_progress")
    .execute();
  return rows.filter(({ leaseOwner, leaseExpiresAt }) => {
    const isExpired = leaseExpiresAt === null || Date.parse(leaseExpiresAt) <= deps.clock();
    return isExpired || leaseOwner === null || ownerState(leaseOwner) === "dead";
  });
}

/** The work of a run from what its outcomes recorded, in their order; empty where nothing changed, null without a mirror. */
async function patchOf(deps: RunDeps, run: InterruptedRun): Promise<string | null> {
  const recorded = (await readRunChangeSets(deps, run.runId)).map(({ actionId, bytes }) => ({
    actionId,
    changeSet: openSealedChangeSet(bytes),
  }));
  if (recorded.length === 0) return "";
  const base = await deps.workspace.reopenBase(run.repositoryId, run.baseSha);
  if (base === null) return null;
  const changeSet = recordedChanges(base, recorded);
  return changeSet.changes.length === 0 ? "" : deps.workspace.renderPatch(base, changeSet);
}
