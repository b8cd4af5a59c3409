import { carry, timeLimit } from "./carry.ts";
import { holdLease } from "./lease.ts";
import { prepare } from "./prepare.ts";
import type { LocalRequest, RunDeps } from "./run-deps.ts";
import type { RunReport } from "./run-report.ts";
import type { Session } from "./session.ts";
import { type Closing, judge, keepOutside, settle } from "./settle.ts";

/**
 * The whole job on a local repository: tests before, the model's work in a checkout, read-back, tests after, a patch, all
 * of it on record. Answers with a report also where the work failed or was cancelled; the patch so far is in it.
 * Throws what keeps the job from starting (`NOT_A_REPOSITORY`, `SETTINGS_INVALID`, `TREE_TOO_LARGE`, ...), and
 * `LEDGER_UNAVAILABLE` where the end can't be recorded: its message then says where the patch is.
 */
export const runLocally = (deps: RunDeps, request: LocalRequest, signal: AbortSignal): Promise<RunReport> =>
  runHere(deps, request, (_, judged) => Promise.resolve({ ...judged, pullRequest: null }), signal);

/** A result and what is concluded from it. */
export type Judged = Pick<Closing, "result" | "verdict">;

/** What is made of a judged result before the run ends; `lost` is aborted once another process has the run. */
export type Publish = (
  session: Session,
  judged: Judged,
  lost: AbortSignal,
) => Promise<Pick<Closing, "verdict" | "pullRequest">>;

/** As `runLocally`, with what is done with the result before it is settled. */
export async function runHere(
  deps: RunDeps,
  request: LocalRequest,
  publish: Publish,
  signal: AbortSignal,
): Promise<RunReport> {
  signal.throwIfAborted();
  deps.onEvent({ kind: "phase", phase: "prepare" });
  const session = await prepare(deps, request, signal);
  await using held = holdLease(deps, session.lease);
  const carried = await carry(deps, session, null, AbortSignal.any([signal, held.lost, timeLimit(deps, session)]));
  if (carried.kind === "waiting") throw new Error("the run waits for an approval although it is asked for at once");
  const { result } = carried;
  const judged = { result, verdict: await judge(deps, session, result) };
  const published = await publish(session, judged, held.lost).catch((error: unknown) =>
    keepOutside(deps, session, judged.verdict.patch, error),
  );
  deps.onEvent({ kind: "phase", phase: "settle" });
  const report = await settle(deps, session, { result, ...published, isLogVerified: true });
  deps.onEvent({ kind: "completed", report });
  return report;
}
