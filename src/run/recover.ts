import { isCountersignError, type Permission, type RunId, type TraceId } from "../domain/index.ts";
import { openSealedChangeSet } from "../gateway/index.ts";
import { type RunLease, readRunChangeSets } from "../ledger/index.ts";
import { compileRepositoryPolicies, loadRepositorySettings } from "../policy/index.ts";
import { ownerState, processOwner } from "../store/index.ts";
import type { BaseTree } from "../workspace/index.ts";
import { type Decider, decidePaths } from "./decide-paths.ts";
import { diffStat } from "./diff-stat.ts";
import { takeOver } from "./lease.ts";
import { recordSpooled } from "./log-failed.ts";
import { withoutObstructed } from "./obstructed.ts";
import { type LeftOnGithub, settleLeftWrites } from "./on-github/left-writes.ts";
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
  readonly repositoryName: string;
  readonly requesterId: string;
  readonly requesterLogin: string;
  readonly requesterPermission: Permission;
  readonly baseSha: string;
};

/** What the patch of a run is made from once its worker is gone. */
export type RecordedRun = Pick<
  InterruptedRun,
  | "runId"
  | "attempt"
  | "repositoryId"
  | "repositoryName"
  | "requesterId"
  | "requesterLogin"
  | "requesterPermission"
  | "baseSha"
>;

const interruptedSummary = { title: "", summary: "", leftOut: [], withheld: [], refusedCauses: [] };

const interruptedCause = "the process that worked on it ended without settling it";

/**
 * Settles runs whose worker is gone: their open actions are brought to rest and the patch is made from the recorded change
 * sets, so that no recorded work is lost. A local run is not gone on with: its terminal is gone as well.
 * Answers with one line a run.
 */
export async function settleInterrupted(deps: RunDeps, signal: AbortSignal): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const run of await interruptedRuns(deps)) {
    const lease = await takeOver(deps, { ...run, owner: processOwner() });
    if (lease !== null) lines.push(await settleOne(deps, { ...run, attempt: run.attempt + 1 }, lease, signal));
  }
  return lines;
}

async function settleOne(deps: RunDeps, taken: InterruptedRun, lease: RunLease, signal: AbortSignal): Promise<string> {
  const { runId } = taken;
  await recordSpooled(deps, taken, lease);
  const left = await settleLeftWrites(deps, taken, lease, signal);
  const openCount = await settleOpenActions(deps, taken, lease, "crash");
  // A mirror that is gone or damaged must not keep the run from being settled: the recorded change sets stay.
  const patch = await patchOfRecord(deps, taken).catch((error: unknown) => {
    if (!isCountersignError(error)) throw error;
    return null;
  });
  const cause = [interruptedCause, ...onGithub(left)].join("; ");
  await recordEnd(deps, taken, lease, {
    conclusion: left.unknown.length === 0 ? "failure" : "action_required",
    stopReason: null,
    used: null,
    evidence: {
      cause: "crash",
      openActionCount: openCount,
      unknownWriteCount: left.unknown.length,
      ...diffStat(patch ?? ""),
    },
    texts: { patch: patch ?? "", summary: JSON.stringify({ ...interruptedSummary, cause }) },
  });
  const told = [`run ${runId} had been interrupted and is settled (${openCount} open actions)`, ...onGithub(left)];
  return [...told, kept(runId, patch)].join("; ");
}

function onGithub({ standing, unknown }: LeftOnGithub): readonly string[] {
  return [
    ...(standing.length === 0 ? [] : [`on GitHub stands ${standing.join(", ")}`]),
    ...(unknown.length === 0 ? [] : [`a person must look on GitHub whether this stands: ${unknown.join(", ")}`]),
  ];
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
      "repository_name as repositoryName",
      "requester_id as requesterId",
      "requester_login as requesterLogin",
      "requester_permission as requesterPermission",
      "base_sha as baseSha",
    ])
    .where("status", "=", "in_progress")
    .where("installation_id", "is", null) // a run from GitHub is gone on with, by whoever takes it over
    .execute();
  return rows.filter(({ leaseOwner, leaseExpiresAt }) => {
    const isExpired = leaseExpiresAt === null || Date.parse(leaseExpiresAt) <= deps.clock();
    return isExpired || leaseOwner === null || ownerState(leaseOwner) === "dead";
  });
}

/** The work of a run from what its outcomes recorded, in their order; empty where nothing changed, null without a mirror. */
export async function patchOfRecord(deps: RunDeps, run: RecordedRun): Promise<string | null> {
  const recorded = (await readRunChangeSets(deps, run.runId)).map(({ actionId, bytes }) => ({
    actionId,
    changeSet: openSealedChangeSet(bytes),
  }));
  if (recorded.length === 0) return "";
  const base = await deps.workspace.reopenBase(run.repositoryId, run.baseSha);
  if (base === null) return null;
  const decider = await deciderOfGone(deps, run, base);
  const { changes } = recordedChanges(base, recorded);
  const { fitting } = withoutObstructed(changes, decidePaths(deps, decider, changes).allowed);
  return fitting.length === 0 ? "" : deps.workspace.renderPatch(base, { changes: fitting });
}

/** Of a run whose process is gone: nothing counts as approved, since the content can't be held against the question. */
async function deciderOfGone(deps: RunDeps, run: RecordedRun, base: BaseTree): Promise<Decider> {
  const read = (path: string): Promise<Uint8Array | null> => deps.workspace.readBaseFile(base, path);
  const settings = await loadRepositorySettings({ paths: base.entries.keys(), read }, deps.operator);
  return {
    run: {
      runId: run.runId,
      attempt: run.attempt,
      requester: { id: run.requesterId, login: run.requesterLogin, permission: run.requesterPermission },
      repository: { id: run.repositoryId, name: run.repositoryName },
      budgetLeft: () => ({ steps: 0, tokens: 0, seconds: 0 }),
    },
    repositoryPolicies: compileRepositoryPolicies(deps.policies, settings.forbid),
    isApproved: () => false,
  };
}
