import { type ChangeSet, CountersignError, emptyChangeSet } from "../domain/index.ts";
import type { Waiting } from "./perform-asking.ts";
import { fromRecord, type ReadBack, readBack } from "./read-back.ts";
import { recordedChanges } from "./recorded-changes.ts";
import type { KeptWhileWaiting, Resumed } from "./resume.ts";
import type { RunDeps, RunPhase } from "./run-deps.ts";
import { recordPhase } from "./run-record.ts";
import type { TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { setUp } from "./set-up.ts";
import type { Result } from "./settle.ts";
import { verify } from "./verify.ts";
import { endOfError, type WorkEnd, work } from "./work.ts";

/** The run's wall clock; what it ends is `timed_out`, not cancelled. It goes on from what was used of it before (GH-54). */
export function timeLimit({ clock }: Pick<RunDeps, "clock">, { run, startedAtMs }: Session): AbortSignal {
  const limit = new AbortController();
  const { minutes } = run.limits;
  const reason = new CountersignError("TIME_LIMIT", `the limit of ${minutes} minutes was reached`);
  const leftMs = Math.max(0, startedAtMs + minutes * 60_000 - clock());
  setTimeout(() => limit.abort(reason), leftMs).unref();
  return limit.signal;
}

/** What came of the work: a result, or a question that is put to a person elsewhere. */
export type Carried =
  | { readonly kind: "result"; readonly result: Result }
  | ({ readonly kind: "waiting" } & Pick<KeptWhileWaiting, "phase" | "before">);

/**
 * From the tests before to the tests after; `resumed` is where an earlier worker left it. Whatever ends it early, what was read
 * back by then is in the result.
 */
export async function carry(
  deps: RunDeps,
  session: Session,
  resumed: Resumed | null,
  signal: AbortSignal,
): Promise<Carried> {
  let before: TestRun | null = resumed?.kept?.before ?? null;
  let after: TestRun | null = null;
  let end: WorkEnd | null = null;
  let read: ReadBack | null = null;
  try {
    if (resumed === null || resumed.kept === null || resumed.kept.phase === "verify_before") {
      const tested = await inPhase(deps, session, "verify_before", () => verifyTree(deps, session, null, signal));
      if (isWaiting(tested)) return { ...tested, phase: "verify_before", before };
      before = tested;
    }
    const worked = await inPhase(deps, session, "work", () => workInCheckout(deps, session, resumed, signal));
    if (isWaiting(worked)) return { ...worked, phase: "work", before };
    ({ end, read } = worked);
    const { authorized } = read;
    if (end.stopReason === "finished" && authorized.changes.length > 0) {
      const tested = await inPhase(deps, session, "verify_after", () => verifyTree(deps, session, authorized, signal));
      if (isWaiting(tested)) return { ...tested, phase: "verify_after", before };
      after = tested;
    }
    return { kind: "result", result: { before, after, end, readBack: read } };
  } catch (error) {
    const readBackOrRecord = read ?? fromRecord(deps, session);
    return { kind: "result", result: { before, after, end: endOfError(error, signal), readBack: readBackOrRecord } };
  }
}

const isWaiting = (ended: object | Waiting | null): ended is Waiting => ended !== null && "kind" in ended;

async function workInCheckout(
  deps: RunDeps,
  session: Session,
  resumed: Resumed | null,
  signal: AbortSignal,
): Promise<{ readonly end: WorkEnd; readonly read: ReadBack } | Waiting> {
  const options = {
    runId: session.run.runId,
    name: "work",
    buildOutput: session.settings.buildOutput,
    output: session.output,
  };
  await using workspace = await deps.workspace.createWorkspace(session.base, options, signal);
  const waiting = await setUp(deps, session, { workspace, dependencies: emptyChangeSet }, signal);
  if (waiting !== null) return waiting;
  // The base, the setup again, then what authorized actions did to it, and nothing else (AUD-66).
  if (resumed !== null) await workspace.apply(recordedChanges(session.base, resumed.recorded));
  const end = await work(deps, session, { workspace, resumed }, signal);
  return "kind" in end ? end : { end, read: await readBack(deps, session, workspace) };
}

function verifyTree(
  deps: RunDeps,
  session: Session,
  changeSet: ChangeSet | null,
  signal: AbortSignal,
): Promise<TestRun | Waiting | null> {
  const name = changeSet === null ? "verify_before" : "verify_after";
  return verify(deps, session, { name, changeSet }, signal);
}

async function inPhase<T>(deps: RunDeps, session: Session, phase: RunPhase, act: () => Promise<T>): Promise<T> {
  session.onPhase(phase);
  await recordPhase(deps, session.run, session.lease, phase);
  return act();
}
