import { z } from "zod";
import type { JsonObject } from "../domain/index.ts";
import type { ActionContext, Executed, Presented } from "./action-description.ts";
import { cleanOutput } from "./clean-output.ts";
import {
  cleanResult,
  commandEvidence,
  commandRecord,
  endOf,
  type FinishedCommand,
  finishCommand,
} from "./command-output.ts";
import { changeEvidence, commandFields, presentTimeout, sideFacts, treeRecord } from "./command-result.ts";
import { type Call, timedOut } from "./refusals.ts";
import { clipLine, resultText } from "./result-text.ts";
import { readTestCounts, type TestCounts } from "./test-counts.ts";
import { rememberChanges, type TreeChanges, treeChanges } from "./tree-changes.ts";

/** A command that tests, and for how long it may run. */
export type TestPlan = { readonly script: string; readonly timeoutMs: number };

export type TestFacts = {
  readonly finished: FinishedCommand;
  readonly changes: TreeChanges;
  readonly counts: TestCounts | null;
  readonly plan: TestPlan;
};

/** Record fields of a test run (ACI-29). */
export const testFields = {
  ...commandFields,
  command: z.string(),
  runner: z.string().nullable(),
  passed_count: z.number().int().nullable(),
  failed_count: z.number().int().nullable(),
  skipped_count: z.number().int().nullable(),
  failing: z.array(z.string()),
};

const maxNamed = 20;

function failingLines(counts: TestCounts | null): readonly string[] {
  const names = (counts?.failing ?? []).slice(0, maxNamed).map((name) => `failing: ${clipLine(name, 150).text}`);
  const rest = (counts?.failing.length ?? 0) - names.length;
  return rest > 0 ? [...names, `failing: and ${rest} more`] : names;
}

/** Tests are not meant to write sources: what they change is counted, and put down to no action (SEC-91). */
export async function runTests(
  context: ActionContext,
  plan: TestPlan,
  signal: AbortSignal,
): Promise<Executed<TestFacts>> {
  const before = await context.workspace.fingerprint();
  const program = { kind: "shell", script: plan.script } as const;
  const result = await context.workspace.exec({ program, timeoutMs: plan.timeoutMs }, signal);
  const changes = treeChanges(await context.workspace.takeChanges(), before);
  const counts = readTestCounts(cleanOutput(result));
  const cleaned = cleanResult(result, failingLines(counts));
  const finished = await finishCommand(context.pages, plan.script, result, cleaned);
  return {
    facts: { finished, changes, counts, plan },
    changeSet: null,
    evidence: { ...commandEvidence(finished), ...changeEvidence(changes), ...countsRecord(counts) },
  };
}

const countsRecord = (counts: TestCounts | null): JsonObject => ({
  passed_count: counts?.passedCount ?? null,
  failed_count: counts?.failedCount ?? null,
  skipped_count: counts?.skippedCount ?? null,
});

export function presentTests(context: ActionContext, call: Call, { facts }: Executed<TestFacts>): Presented {
  const { finished, changes, counts, plan } = facts;
  rememberChanges(context, changes, call.tool, false);
  const own = {
    ...commandRecord(finished),
    ...treeRecord(changes),
    ...countsRecord(counts),
    command: plan.script,
    runner: counts?.runner ?? null,
    failing: counts?.failing ?? [],
  };
  const sums =
    counts === null
      ? "no counts found"
      : `${counts.passedCount} passed, ${counts.failedCount} failed, ${counts.skippedCount} skipped`;
  const changed = changes.changeSet?.changes.length ?? 0;
  const essentials = [
    `\`${clipLine(plan.script, 120).text}\` ended with ${endOf(finished, plan.timeoutMs)}`,
    sums,
    `${finished.durationMs} ms`,
    ...sideFacts(finished, changes),
    ...(changed > 0 ? ["changes made by tests are never part of the patch"] : []),
  ].join("; ");
  const body = [...failingLines(counts), ...finished.shaped.body];
  if (finished.timedOut) {
    const limitS = Math.round(plan.timeoutMs / 1000);
    const refusal = timedOut(call, { limitS, usedMs: finished.durationMs, maximumS: limitS }, finished.killed);
    return presentTimeout(refusal, { essentials, body, own });
  }
  if (finished.exitCode !== 0)
    return { status: "failed", text: resultText("failed", essentials, body), record: own, refusal: null };
  const status = finished.shaped.totalLines === 0 ? "empty" : "ok";
  const text = resultText(status, status === "empty" ? `no output; ${essentials}` : essentials, body);
  return { status, text, record: own, refusal: null };
}
