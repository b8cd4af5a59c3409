import {
  type CancelCause,
  type Conclusion,
  CountersignError,
  isCountersignError,
  type JsonObject,
  type StopReason,
} from "../domain/index.ts";
import { verifyStored } from "../ledger/index.ts";
import { conclude } from "./conclude.ts";
import { diffStat } from "./diff-stat.ts";
import { judgedPaths } from "./judged-paths.ts";
import { passGate } from "./pass-gate.ts";
import type { ReadBack } from "./read-back.ts";
import type { RunDeps } from "./run-deps.ts";
import { recordEnd, recordPhase } from "./run-record.ts";
import type { RunReport, TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { settleOpenActions } from "./settle-open-actions.ts";
import { testCommands } from "./test-commands.ts";
import { settleUnrecorded, type WorkEnd } from "./work.ts";

/** What a run came to before it is settled. */
export type Result = {
  readonly before: TestRun | null;
  readonly after: TestRun | null;
  readonly end: WorkEnd;
  readonly readBack: ReadBack;
};

/** What the host concludes from a result, and the patch that holds the work. */
export type Verdict = {
  readonly conclusion: Conclusion;
  /** One sentence on why it ended so. */
  readonly cause: string;
  readonly patch: string;
  readonly diffStat: RunReport["diffStat"];
  /** Why the commit gate lets nothing of it out; empty where it does. */
  readonly gateCauses: readonly string[];
};

/** Concludes, and words the work as a patch. Changes nothing. */
export async function judge(deps: RunDeps, session: Session, result: Result): Promise<Verdict> {
  const { authorized, refusedCauses } = result.readBack;
  const patch = authorized.changes.length === 0 ? "" : await deps.workspace.renderPatch(session.base, authorized);
  const change = { changeSet: authorized, diffStat: diffStat(patch) };
  const { title, summary } = result.end;
  const texts = Object.entries({ title, summary }).map(([name, text]) => ({ name: `the ${name}`, text }));
  const gate = await passGate(deps, session, { ...change, texts });
  const gateCauses = gate.kind === "refused" ? gate.causes : [];
  const judged = conclude({
    stopReason: result.end.stopReason,
    detail: result.end.detail,
    changedPaths: authorized.changes.map(({ path }) => path),
    verifyCommand: session.settings.verify?.run ?? null,
    before: result.before,
    after: result.after,
    weakenedPaths: judgedPaths(authorized.changes, await testCommands(deps, session)),
    refusedCauses,
    gateCauses,
  });
  return { ...judged, patch, diffStat: change.diffStat, gateCauses };
}

/** A run whose end is known: its result, what is concluded from it and what was published. */
export type Closing = {
  readonly result: Result;
  readonly verdict: Verdict;
  readonly pullRequest: RunReport["pullRequest"];
  /** Whether the whole log is verified at the end: too much to be done for each run of a service. */
  readonly isLogVerified: boolean;
};

/** Brings open actions to rest, keeps the patch, records the end and words the report. */
export async function settle(deps: RunDeps, session: Session, closing: Closing): Promise<RunReport> {
  const { run, settings } = session;
  const { result, verdict, pullRequest } = closing;
  const { leftOut, withheld } = result.readBack;
  const { stopReason, title, summary } = result.end;
  const patchKept = await keepEnd(deps, session, closing).catch((error: unknown) =>
    keepOutside(deps, session, verdict.patch, error),
  );
  return {
    runId: run.runId,
    traceId: run.traceId,
    conclusion: verdict.conclusion,
    stopReason,
    cause: verdict.cause,
    title,
    summary,
    pullRequest,
    patch: verdict.patch,
    patchKept,
    diffStat: verdict.diffStat,
    tests: {
      command: settings.verify?.run ?? null,
      derived: settings.verify?.derived ?? false,
      before: result.before,
      after: result.after,
    },
    actions: session.outcomes,
    leftOut,
    withheld,
    ledger: closing.isLogVerified ? await verifiedHead(deps) : { ...(await deps.ledger.head()), verified: null },
    tokens: { input: session.used.inputTokens, output: session.used.outputTokens },
    durationMs: deps.clock() - session.startedAtMs,
  };
}

async function keepEnd(deps: RunDeps, session: Session, closing: Closing): Promise<string | null> {
  const { run, lease, used } = session;
  const { result, verdict, pullRequest } = closing;
  const { leftOut, withheld, refusedCauses } = result.readBack;
  const { stopReason, title, summary } = result.end;
  const { conclusion, cause, patch } = verdict;
  const evidence: JsonObject = {
    ...verdict.diffStat,
    leftOutCount: leftOut.length,
    withheldCount: withheld.length,
    withheldBy: [...new Set(withheld.flatMap(({ policyIds }) => policyIds))].sort(),
    refusedCauseCount: refusedCauses.length,
    testsBefore: result.before?.exitCode ?? null,
    testsAfter: result.after?.exitCode ?? null,
    usage: { ...used },
    ...(pullRequest === null ? {} : { pullRequest: pullRequest.number, headSha: pullRequest.headSha }),
  };
  const texts = { patch, summary: JSON.stringify({ title, summary, cause, leftOut, withheld, refusedCauses }) };
  await recordPhase(deps, run, lease, "settle");
  await settleUnrecorded(deps, session);
  await settleOpenActions(deps, run, lease, cancelCauseOf(stopReason));
  await recordEnd(deps, run, lease, { conclusion, stopReason, used, evidence, texts });
  return patch === "" ? null : `countersign runs patch ${run.runId}`;
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
export async function keepOutside(deps: RunDeps, session: Session, patch: string, error: unknown): Promise<never> {
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
