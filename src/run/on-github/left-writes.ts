import { isCountersignError, type Permission, type RunId, type TraceId } from "../../domain/index.ts";
import type { Github } from "../../github/index.ts";
import type { RunLease } from "../../ledger/index.ts";
import { isOutage } from "../outage.ts";
import type { RunDeps } from "../run-deps.ts";
import { branchOf, hostContext, referenceOf } from "./github-job.ts";
import { reconcileAll, standingWrites, unknownWrites } from "./host-actions.ts";

/** A local run whose process ended, as its row tells it. */
type LeftRun = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly attempt: number;
  readonly repositoryId: string;
  readonly repositoryName: string;
  readonly requesterId: string;
  readonly requesterLogin: string;
  readonly requesterPermission: Permission;
};

/** What a run left on GitHub when its process ended: for its last entry and for the person. */
export type LeftOnGithub = {
  /** What stands there by the record. */
  readonly standing: readonly string[];
  /** Writes of which nobody knows whether they stand. */
  readonly unknown: readonly string[];
};

/**
 * Settles the writes that a run was at, by looking and never by writing (AUD-6), where an App is at hand; tells what stands and
 * what stays unknown. Such a run is not gone on with, so nothing is written twice.
 */
export async function settleLeftWrites(
  deps: RunDeps,
  run: LeftRun,
  lease: RunLease,
  signal: AbortSignal,
): Promise<LeftOnGithub> {
  if (deps.github !== null && (await unknownWrites(deps, run)).length > 0) {
    await look(deps, { run, lease, github: deps.github }, signal).catch((error: unknown) => {
      if (signal.aborted || !isCountersignError(error) || isOutage(error)) throw error;
      // Neither a GitHub that does not answer nor a key that was erased keeps the run from being settled.
    });
  }
  const { runId } = run;
  const pushed = (await standingWrites(deps, run, "push_commit")).results.map(() => `the branch ${branchOf(0, runId)}`);
  const opened = (await standingWrites(deps, run, "open_pull_request")).results.map(({ url }) => `pull request ${url}`);
  return { standing: [...pushed, ...opened], unknown: await unknownWrites(deps, run) };
}

async function look(
  deps: RunDeps,
  left: { readonly run: LeftRun; readonly lease: RunLease; readonly github: Github },
  signal: AbortSignal,
): Promise<void> {
  const { run, lease, github } = left;
  const [owner = "", name = ""] = run.repositoryName.split("/");
  const { place } = await github.locate({ owner, name }, signal);
  if (String(place.repositoryId) !== run.repositoryId) return; // another one has the name by now
  const context = await hostContext(deps, {
    runId: run.runId,
    traceId: run.traceId,
    attempt: run.attempt,
    lease,
    requester: { id: run.requesterId, login: run.requesterLogin, permission: run.requesterPermission },
    requesterReference: await referenceOf(deps, run.runId),
    repository: { id: run.repositoryId, name: run.repositoryName },
    writer: github.writer(place),
    branch: branchOf(0, run.runId),
  });
  await reconcileAll(deps, { context }, signal);
}
