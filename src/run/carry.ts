import { type ChangeSet, CountersignError } from "../domain/index.ts";
import { fromRecord, type ReadBack, readBack } from "./read-back.ts";
import type { RunDeps, RunPhase } from "./run-deps.ts";
import { recordPhase } from "./run-record.ts";
import type { TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { setUp } from "./set-up.ts";
import type { Result } from "./settle.ts";
import { verify } from "./verify.ts";
import { endOfError, type WorkEnd, work } from "./work.ts";

/** The run's wall clock; what it ends is `timed_out`, not cancelled. */
export function timeLimit({ run }: Session): AbortSignal {
  const limit = new AbortController();
  const { minutes } = run.limits;
  const reason = new CountersignError("TIME_LIMIT", `the limit of ${minutes} minutes was reached`);
  setTimeout(() => limit.abort(reason), minutes * 60_000).unref();
  return limit.signal;
}

/** From the tests before to the tests after. Whatever ends it early, what was read back by then is in the result. */
export async function carry(deps: RunDeps, session: Session, signal: AbortSignal): Promise<Result> {
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
  const options = {
    runId: session.run.runId,
    name: "work",
    buildOutput: session.settings.buildOutput,
    output: session.output,
  };
  await using workspace = await deps.workspace.createWorkspace(session.base, options, signal);
  await setUp(deps, session, { workspace, hasChangedDependencies: false }, signal);
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
  session.onPhase(phase);
  await recordPhase(deps, session.run, session.lease, phase);
  return act();
}
