import { z } from "zod";
import { type ActionOutcome, type ChangeSet, emptyChangeSet, isCountersignError } from "../domain/index.ts";
import { createFingerprints, type RunContext } from "../gateway/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { Waiting } from "./perform-asking.ts";
import { performOwn } from "./perform-own.ts";
import type { RunDeps } from "./run-deps.ts";
import type { TestRun } from "./run-report.ts";
import type { Session } from "./session.ts";
import { setUp, splitDependencies } from "./set-up.ts";

/**
 * Runs the project's own command in a fresh checkout of the base, with the change set laid on it where there is one:
 * nothing of the agent's checkout but that is there (ACI-75). Null where the settings name no command. Waits where a person is asked
 * elsewhere about it or its setup.
 */
export async function verify(
  deps: RunDeps,
  session: Session,
  tree: { readonly name: "verify_before" | "verify_after"; readonly changeSet: ChangeSet | null },
  signal: AbortSignal,
): Promise<TestRun | Waiting | null> {
  const { run, settings, base } = session;
  if (settings.verify === null) return null;
  const options = { runId: run.runId, name: tree.name, buildOutput: settings.buildOutput, output: session.output };
  await using workspace = await deps.workspace.createWorkspace(base, options, signal);
  const notSetUp = await makeReady(deps, session, { workspace, changeSet: tree.changeSet }, signal);
  if (notSetUp !== null) return notSetUp;
  await using pages = await deps.openPages(run.runId);
  const context: RunContext = {
    ...session.context,
    workspace,
    fingerprints: createFingerprints(),
    pages,
    onRecordedChange: () => undefined,
  };
  const args = {
    stage: tree.name === "verify_before" ? "before" : "after",
    command: settings.verify.run,
    timeout_s: Math.ceil(settings.verify.timeoutMs / 1000),
  };
  const outcome = await performOwn(deps, session, { context, command: { tool: "run_verification", args } }, signal);
  return "kind" in outcome ? outcome : toTestRun(outcome);
}

/**
 * Setup first, on the base and what decides the dependencies, then the rest of the change (SEC-65, SEC-72). A setup that fails on
 * the base ends the run; one that fails later is an end of this verification alone, and what was done is kept (ACI-79).
 */
async function makeReady(
  deps: RunDeps,
  session: Session,
  { workspace, changeSet }: { readonly workspace: Workspace; readonly changeSet: ChangeSet | null },
  signal: AbortSignal,
): Promise<TestRun | Waiting | null> {
  const { dependencies, rest } = splitDependencies(changeSet ?? emptyChangeSet);
  await workspace.apply(dependencies);
  try {
    const waiting = await setUp(deps, session, { workspace, dependencies }, signal);
    if (waiting !== null) return waiting;
  } catch (error) {
    if (changeSet === null || !isCountersignError(error, "SETUP_FAILED")) throw error;
    return { ...nothingRun, durationMs: 0, missing: error.message };
  }
  await workspace.apply(rest);
  return null;
}

const nothingRun = { exitCode: null, timedOut: false, passedCount: null, failedCount: null };

/** The fields of `run_verification`'s record that the verdict is made of. */
const VerificationRecord = z.object({
  exit_code: z.number().nullable(),
  timed_out: z.boolean(),
  passed_count: z.number().nullable(),
  failed_count: z.number().nullable(),
  missing_program: z.string().nullable(),
  looked_in: z.array(z.string()),
});

function toTestRun(outcome: ActionOutcome): TestRun {
  const parsed = VerificationRecord.safeParse(outcome.record);
  if (!parsed.success) {
    return {
      ...nothingRun,
      durationMs: outcome.durationMs,
      missing: outcome.refusal?.received ?? "the run was refused",
    };
  }
  const record = parsed.data;
  return {
    exitCode: record.exit_code,
    timedOut: record.timed_out,
    durationMs: outcome.durationMs,
    passedCount: record.passed_count,
    failedCount: record.failed_count,
    missing: missingText(record.missing_program, record.looked_in),
  };
}

function missingText(program: string | null, lookedIn: readonly string[]): string | null {
  if (program === null) return null;
  return `\`${program}\` is not in the sandbox (looked for in ${lookedIn.join(", ")}); see \`countersign doctor --sandbox\``;
}
