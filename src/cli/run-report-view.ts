import type { ActionOutcome, JsonObject } from "../domain/index.ts";
import type { RunReport, TestRun } from "../run/index.ts";
import { reasonOf } from "./progress.ts";
import { duration, inLine, table } from "./terminal.ts";

/** The contract's object (architecture, section 1.7), with what else a reader of a run wants to know. */
export function reportJson(report: RunReport): JsonObject {
  return {
    run_id: report.runId,
    conclusion: report.conclusion,
    cause: report.cause,
    stop_reason: report.stopReason,
    title: report.title,
    summary: report.summary,
    pull_request: pullRequestJson(report.pullRequest),
    patch: report.patch,
    patch_kept: report.patchKept,
    diff_stat: report.diffStat,
    left_out: report.leftOut,
    withheld: report.withheld.map(({ path, policyIds }) => ({ path, policy_ids: policyIds })),
    tests: {
      command: report.tests.command,
      derived: report.tests.derived,
      before: testsJson(report.tests.before),
      after: testsJson(report.tests.after),
    },
    actions: report.actions.map(actionJson),
    trace_id: report.traceId,
    ledger: { size: report.ledger.size, root_hash: report.ledger.rootHash, verified: report.ledger.verified },
    tokens: report.tokens,
    duration_ms: report.durationMs,
  };
}

const pullRequestJson = (opened: RunReport["pullRequest"]): JsonObject | null =>
  opened === null
    ? null
    : {
        number: opened.number,
        url: opened.url,
        head_sha: opened.headSha,
        draft: opened.isDraft,
        confirmed: opened.isConfirmed,
        diff_stat: opened.diffStat,
      };

const testsJson = (tests: TestRun | null): JsonObject | null =>
  tests === null
    ? null
    : {
        exit_code: tests.exitCode,
        timed_out: tests.timedOut,
        passed_count: tests.passedCount,
        failed_count: tests.failedCount,
        duration_ms: tests.durationMs,
        missing: tests.missing,
      };

const actionJson = (outcome: ActionOutcome): JsonObject => ({
  action_id: outcome.actionId,
  tool: outcome.tool,
  state: outcome.state,
  status: outcome.status,
  decision: outcome.decision?.effect ?? null,
  policy_ids: outcome.decision?.policyIds ?? [],
  reason: outcome.refusal === null ? null : { code: outcome.refusal.code, message: outcome.refusal.received },
  arguments_digest: outcome.argumentsDigest,
  duration_ms: outcome.durationMs,
});

/** The end of a run for a person: the action table, the verdict, where the patch is and how to look further. */
export function reportText(report: RunReport): string {
  const { files, added, removed } = report.diffStat;
  const kept = report.patchKept === null ? "none" : `npx --no -- ${report.patchKept}`;
  const lines = [
    `conclusion  ${report.conclusion}: ${report.cause}`,
    ...(report.title === "" ? [] : [`title       ${report.title} (the model's)`]),
    `tests       ${report.tests.command ?? "no command"}: before ${testsText(report.tests.before)}, after ${testsText(report.tests.after)}`,
    `change      ${files} ${files === 1 ? "file" : "files"}, +${added} -${removed}`,
    ...(report.leftOut.length === 0
      ? []
      : [`left out    ${report.leftOut.join(", ")} (no authorized action wrote it)`]),
    ...report.withheld.map(({ path, policyIds }) => `withheld    ${path} (${policyIds.join(", ")})`),
    ...(report.pullRequest === null ? [] : [`opened      ${openedText(report.pullRequest)}`]),
    `patch       ${kept}`,
    `ledger      ${report.ledger.size} entries, root ${report.ledger.rootHash}, ${verifiedText(report.ledger.verified)}`,
    `trace       ${report.traceId}`,
    `tokens      ${report.tokens.input} in, ${report.tokens.output} out`,
    `time        ${duration(report.durationMs)}`,
    `look at     npx --no -- countersign audit show ${report.runId}`,
  ];
  return `\n${actionTable(report.actions)}\n${lines.map((line) => `${inLine(line)}\n`).join("")}`;
}

function openedText({ number, url, headSha, isDraft, isConfirmed }: NonNullable<RunReport["pullRequest"]>): string {
  const draft = isDraft ? "draft " : "";
  const confirmed = isConfirmed ? "" : " (not confirmed: GitHub could not be asked again)";
  return `${draft}pull request #${number}, ${url}, head ${headSha}${confirmed}`;
}

function verifiedText(isVerified: boolean | null): string {
  if (isVerified === null) return "not verified here";
  return isVerified ? "verified" : "NOT VERIFIED";
}

/** Each action: what was decided, what became of it, and why where it did nothing. */
export function actionTable(actions: readonly ActionOutcome[]): string {
  const rows = actions.map((outcome) => [
    outcome.tool,
    outcome.decision?.effect ?? "-",
    outcome.state,
    outcome.status,
    duration(outcome.durationMs),
    reasonOf(outcome),
  ]);
  return table([["ACTION", "DECISION", "STATE", "RESULT", "TIME", "REASON"], ...rows]);
}

export function testsText(tests: TestRun | null): string {
  if (tests === null) return "not run";
  if (tests.missing !== null) return "not run";
  if (tests.timedOut) return "timed out";
  const counts = tests.passedCount === null ? "" : `, ${tests.passedCount} passed, ${tests.failedCount ?? 0} failed`;
  return `exit ${tests.exitCode ?? "-"}${counts}`;
}
