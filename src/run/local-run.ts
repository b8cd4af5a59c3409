import { type ChangeSet, CountersignError } from "../domain/index.ts";
import { holdLease } from "./lease.ts";
import { prepare } from "./prepare.ts";
import { fromRecord, type ReadBack, readBack } from "./read-back.ts";
import type { LocalRequest, RunDeps, RunPhase } from "./run-deps.ts";
import { recordPhase } from "./run-record.ts";
import type { RunReport, TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { type Result, settle } from "./settle.ts";
import { verify } from "./verify.ts";
import { endOfError, type WorkEnd, work } from "./work.ts";

/**
 * The whole job on a local repository: tests before, the model's work in a checkout, read-back, tests after, a patch, all
 * of it on record. Answers with a report also where the work failed or was cancelled; the patch so far is in it.
 * Throws what keeps the job from starting (`NOT_A_REPOSITORY`, `SETTINGS_INVALID`, `TREE_TOO_LARGE`, ...), and
 * `LEDGER_UNAVAILABLE` where the end can't be recorded: its message then says where the patch is.
 */
export async function runLocally(deps: RunDeps, request: LocalRequest, signal: AbortSignal): Promise<RunReport> {
  signal.throwIfAborted();
  deps.onEvent({ kind: "phase", phase: "prepare" });
  const session = await prepare(deps, request, signal);
  await using held = holdLease(deps, session.lease);
  const result = await carry(deps, session, AbortSignal.any([signal, held.lost, timeLimit(session)]));
  deps.onEvent({ kind: "phase", phase: "settle" });
  const report = await settle(deps, session, result);
  deps.onEvent({ kind: "completed", report });
  return report;
}

/** The run's wall clock; what it ends is `timed_out`, not cancelled. */
function timeLimit({ run }: Session): AbortSignal {
  const limit = new AbortController();
  const { minutes } = run.limits;
  const reason = new CountersignError("TIME_LIMIT", `the limit of ${minutes} minutes was reached`);
  setTimeout(() => limit.abort(reason), minutes * 60_000).unref();
  return limit.signal;
}

/** From the tests before to the tests after. Whatever ends it early, what was read back by then is in the result. */
async function carry(deps: RunDeps, session: Session, signal: AbortSignal): Promise<Result> {
  let before: TestRun | null = null;
  let after: TestRun | null = null;
  let end: WorkEnd | null = null;
  let read: ReadBack | null = null;
  try {
    before = await inPhase(deps, session, "verify_before", () => verifyTree(deps, session, null, signal));
    ({ end, read } = await inPhase(deps, session, "work", () => workInCheckout(deps, session, signal)));
    const { authorized } = read;
    if (end.stopReason === "finished" && authorized.changes.length > 0) {
      after = await inPhase(deps, session, "verify_after", () => verifyTree(deps, session, authorized, signal));
    }
    return { before, after, end, readBack: read };
  } catch (error) {
    return { before, after, end: endOfError(error, signal), readBack: read ?? fromRecord(deps, session) };
  }
}

async function workInCheckout(
  deps: RunDeps,
  session: Session,
  signal: AbortSignal,
): Promise<{ readonly end: WorkEnd; readonly read: ReadBack }> {
  const options = { runId: session.run.runId, name: "work", buildOutput: session.settings.buildOutput };
  await using workspace = await deps.workspace.createWorkspace(session.base, options, signal);
  const end = await work(deps, session, workspace, signal);
  return { end, read: await readBack(deps, session, workspace) };
}

function verifyTree(
  deps: RunDeps,
  session: Session,
  changeSet: ChangeSet | null,
  signal: AbortSignal,
): Promise<TestRun | null> {
  const name = changeSet === null ? "verify_before" : "verify_after";
  return verify(deps, session, { name, changeSet }, signal);
}

async function inPhase<T>(deps: RunDeps, session: Session, phase: RunPhase, act: () => Promise<T>): Promise<T> {
  deps.onEvent({ kind: "phase", phase });
  await recordPhase(deps, session.run, session.lease, phase);
  return act();
}
