import {
  type CancelCause,
  CountersignError,
  isCountersignError,
  type JsonObject,
  type StopReason,
} from "../domain/index.ts";
import { verifyStored } from "../ledger/index.ts";
import { conclude } from "./conclude.ts";
import { diffStat } from "./diff-stat.ts";
import { judgedPaths } from "./judged-paths.ts";
import type { ReadBack } from "./read-back.ts";
import type { RunDeps } from "./run-deps.ts";
import { recordEnd, recordPhase } from "./run-record.ts";
import type { RunReport, TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { settleOpenActions } from "./settle-open-actions.ts";
import { testCommands } from "./test-commands.ts";
import type { WorkEnd } from "./work.ts";

/** What a run came to before it is settled. */
export type Result = {
  readonly before: TestRun | null;
  readonly after: TestRun | null;
  readonly end: WorkEnd;
  readonly readBack: ReadBack;
};

/** Brings open actions to rest, keeps the patch, records the end and words the report. */
export async function settle(deps: RunDeps, session: Session, result: Result): Promise<RunReport> {
  const { run, lease, settings } = session;
  const { authorized, leftOut, withheld, refusedCauses } = result.readBack;
  const { conclusion, cause } = conclude({
    stopReason: result.end.stopReason,
    detail: result.end.detail,
    changedPaths: authorized.changes.map(({ path }) => path),
    verifyCommand: settings.verify?.run ?? null,
    before: result.before,
    after: result.after,
    weakenedPaths: judgedPaths(authorized.changes, await testCommands(deps, session)),
    refusedCauses,
  });
  const patch = authorized.changes.length === 0 ? "" : await deps.workspace.renderPatch(session.base, authorized);
  const stat = diffStat(patch);
  const { stopReason, title, summary } = result.end;
  const evidence: JsonObject = {
    ...stat,
    leftOutCount: leftOut.length,
    withheldCount: withheld.length,
    withheldBy: [...new Set(withheld.flatMap(({ policyIds }) => policyIds))].sort(),
    refusedCauseCount: refusedCauses.length,
    testsBefore: result.before?.exitCode ?? null,
    testsAfter: result.after?.exitCode ?? null,
    usage: { ...session.used },
  };
  const texts = { patch, summary: JSON.stringify({ title, summary, cause, leftOut, withheld, refusedCauses }) };
  const keep = async (): Promise<string | null> => {
    await recordPhase(deps, run, lease, "settle");
    await settleOpenActions(deps, run, lease, cancelCauseOf(stopReason));
    await recordEnd(deps, run, lease, { conclusion, stopReason, evidence, texts });
    return patch === "" ? null : `countersign runs patch ${run.runId}`;
  };
  const patchKept = await keep().catch((error: unknown) => keepOutside(deps, session, patch, error));
  return {
    runId: run.runId,
    traceId: run.traceId,
    conclusion,
    stopReason,
    cause,
    title,
    summary,
    patch,
    patchKept,
    diffStat: stat,
    tests: {
      command: settings.verify?.run ?? null,
      derived: settings.verify?.derived ?? false,
      before: result.before,
      after: result.after,
    },
    actions: session.outcomes,
    leftOut,
    withheld,
    ledger: await verifiedHead(deps),
    tokens: { input: session.used.inputTokens, output: session.used.outputTokens },
    durationMs: deps.clock() - session.startedAtMs,
  };
}

/** Why an action that is still open is cancelled. */
function cancelCauseOf(stopReason: StopReason): CancelCause {
  if (stopReason === "cancelled") return "stop";
  return stopReason.startsWith("limit_") ? "budget" : "crash";
}

async function verifiedHead(deps: RunDeps): Promise<RunReport["ledger"]> {
  const { ok, size, rootHash } = await verifyStored(deps);
  return { origin: deps.ledger.origin, size, rootHash, verified: ok };
}

/** Nothing is lost: where the store can't take the patch it goes into a file, and the error says which. */
async function keepOutside(deps: RunDeps, session: Session, patch: string, error: unknown): Promise<never> {
  if (patch === "") throw error;
  const place = await deps.keepPatchOutside(session.run.runId, patch);
  const where = `the patch of run \`${session.run.runId}\` is in \`${place}\``;
  if (!isCountersignError(error)) throw new Error(where, { cause: error });
  const { code, message, details, cause } = error;
  throw new CountersignError(code, `${message}; ${where}`, {
    cause,
    details,
  });
}
