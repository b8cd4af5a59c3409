import { carry, timeLimit } from "./carry.ts";
import { holdLease } from "./lease.ts";
import { prepare } from "./prepare.ts";
import type { LocalRequest, RunDeps } from "./run-deps.ts";
import type { RunReport } from "./run-report.ts";
import { judge, settle } from "./settle.ts";

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
  const verdict = await judge(deps, session, result);
  const report = await settle(deps, session, { result, verdict, pullRequest: null, isLogVerified: true });
  deps.onEvent({ kind: "completed", report });
  return report;
}
