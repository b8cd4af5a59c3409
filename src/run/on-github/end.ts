import { showRun } from "../../ledger/index.ts";
import { diffStat } from "../diff-stat.ts";
import { patchOfRecord } from "../recover.ts";
import type { RunDeps } from "../run-deps.ts";
import { recordEnd } from "../run-record.ts";
import type { RunReport } from "../run-report.ts";
import type { Session } from "../session.ts";
import { type Result, settle, type Verdict } from "../settle.ts";
import { settleOpenActions } from "../settle-open-actions.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { reconcileTool, unknownWrites } from "./host-actions.ts";
import type { Closed } from "./last-gate.ts";
import { notDoneOf } from "./publication.ts";
import type { Reporter } from "./reporter.ts";
import type { StatusEnd } from "./status-text.ts";
import { tellAnswers } from "./tell-answers.ts";
import type { StopWatch } from "./watch-stop.ts";

/** A run in the hands of this worker, with what watches over it and what tells of it. */
export type Live = {
  readonly job: GithubJob;
  readonly stop: StopWatch;
  readonly reporter: Reporter;
  /** Aborted once another worker has the run. */
  readonly lost: AbortSignal;
};

type Ending = {
  readonly result: Result;
  readonly verdict: Verdict;
  readonly pullRequest: RunReport["pullRequest"];
  /** What a person can do; null where there is nothing to do. */
  readonly remedy: string | null;
};

/** The last edit of the status comment, then the last entry of the run: a crash in between ends with the same edit again. */
export async function finish(
  deps: GithubRunDeps,
  live: Live,
  session: Session,
  ending: Ending,
): Promise<{ readonly kind: "ended" }> {
  const { job, reporter } = live;
  const { result, pullRequest, remedy } = ending;
  deps.onEvent({ kind: "phase", phase: "settle" });
  await reporter.settled();
  await reconcileTool(deps, job.context, "create_comment", live.lost); // before the comment tells what is not known
  await tellAnswers(deps, job, { isOver: true }, live.lost);
  const verdict = await withUnknown(deps, job, ending.verdict);
  const { leftOut, withheld } = result.readBack;
  const told = { ...verdict, remedy, pullRequest, leftOut, withheld };
  await reporter.end(await statusEnd(deps, job, told), session.used);
  const final = await withUnknown(deps, job, verdict);
  const report = await settle(deps, session, { result, verdict: final, pullRequest, isLogVerified: false });
  deps.onEvent({ kind: "completed", report });
  deps.onEvent({ kind: "ended", runId: session.run.runId, conclusion: final.conclusion });
  return { kind: "ended" };
}

/** No run is a success while it is not known whether one of its writes stands (AUD-6, AUD-65). */
export async function withUnknown(
  deps: RunDeps,
  { context }: Pick<GithubJob, "context">,
  verdict: Verdict,
): Promise<Verdict> {
  const unknown = await unknownWrites(deps, context);
  if (unknown.length === 0 || verdict.conclusion !== "success") return verdict;
  const cause = `a person must look on GitHub whether this stands: ${unknown.join(", ")}`;
  return { ...verdict, conclusion: "action_required", cause };
}

const noneUsed = { turns: 0, inputTokens: 0, outputTokens: 0 };

/** The end of a run that never came to work, or whose work this process does not have: what is on record is kept. */
export async function endEarly(
  deps: GithubRunDeps,
  live: Live,
  { conclusion, cause, remedy }: Closed,
): Promise<{ readonly kind: "ended" }> {
  const { job, reporter } = live;
  const { row, lease } = job;
  const run = { runId: row.run_id, traceId: row.trace_id, attempt: row.attempt };
  await reporter.settled();
  await tellAnswers(deps, job, { isOver: true }, live.lost);
  const patch = await recordedPatch(deps, job);
  const none = { pullRequest: null, leftOut: [], withheld: [], gateCauses: [] };
  const told = { conclusion, cause, patch, diffStat: diffStat(patch), remedy, ...none };
  await reporter.end(await statusEnd(deps, job, told), noneUsed);
  await settleOpenActions(deps, run, lease, conclusion === "cancelled" ? "stop" : "crash");
  const summary = { title: "", summary: "", cause, leftOut: [], withheld: [], refusedCauses: [] };
  await recordEnd(deps, run, lease, {
    conclusion,
    stopReason: conclusion === "cancelled" ? "cancelled" : null,
    used: row.base_sha === "" ? noneUsed : null, // before the base is fixed no model is asked
    evidence: { endedEarly: true, ...diffStat(patch) },
    texts: { patch, summary: JSON.stringify(summary) },
  });
  deps.onEvent({ kind: "ended", runId: row.run_id, conclusion });
  return { kind: "ended" };
}

/** A mirror that is gone or damaged must not keep a run from ending: the recorded change sets stay. */
async function recordedPatch(deps: GithubRunDeps, { row }: GithubJob): Promise<string> {
  if (row.base_sha === "") return "";
  const recorded = {
    runId: row.run_id,
    attempt: row.attempt,
    repositoryId: row.repository_id,
    repositoryName: row.repository_name,
    requesterId: row.requester_id,
    requesterLogin: row.requester_login,
    requesterPermission: row.requester_permission,
    baseSha: row.base_sha,
  };
  return (await patchOfRecord(deps, recorded).catch(() => null)) ?? "";
}

type Told = Verdict & Pick<StatusEnd, "remedy" | "pullRequest" | "leftOut" | "withheld">;

async function statusEnd(deps: GithubRunDeps, { row, startedAtMs }: GithubJob, told: Told): Promise<StatusEnd> {
  const actions = (await showRun(deps.store, row.run_id))?.actions ?? [];
  const { conclusion, cause, remedy, pullRequest, leftOut, withheld, patch } = told;
  return {
    conclusion,
    cause,
    remedy,
    pullRequest,
    leftOut,
    withheld,
    notDone: await notDoneOf(deps, actions),
    patchKept: patch === "" ? null : `countersign runs patch ${row.run_id}`,
    durationMs: deps.clock() - startedAtMs,
    checkpoint: await deps.ledger.head(),
  };
}
