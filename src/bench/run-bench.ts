import { arch, availableParallelism, loadavg, release } from "node:os";
import { CountersignError, type JsonObject } from "../domain/index.ts";
import { type BenchDeps, type BenchSettings, openBenchPlace } from "./bench-place.ts";
import { type Figure, figureJson, isMet, type Size } from "./figure.ts";
import { appendRow } from "./rows/append.ts";
import { bookkeepingRow } from "./rows/bookkeeping.ts";
import { checkoutRow } from "./rows/checkout.ts";
import { decisionRow } from "./rows/decision.ts";
import { demoRow } from "./rows/demo.ts";
import { editsRow } from "./rows/edits.ts";
import { hostileRequestsRow } from "./rows/hostile-requests.ts";
import { intakeRow } from "./rows/intake.ts";
import { loopRow } from "./rows/loop.ts";
import { lostAnswersRow } from "./rows/lost-answers.ts";
import { merkleRow } from "./rows/merkle.ts";
import { outageRow } from "./rows/outage.ts";
import { outputRow } from "./rows/output.ts";
import { performRow } from "./rows/perform.ts";
import { policyMutantsRow } from "./rows/policy-mutants.ts";
import { redactorRow } from "./rows/redactor.ts";
import type { Row } from "./rows/row.ts";
import { sandboxRow } from "./rows/sandbox.ts";
import { startRow } from "./rows/start.ts";
import { stepsRow } from "./rows/steps.ts";
import { verifyRow } from "./rows/verify.ts";
import { webhookRow } from "./rows/webhook.ts";
import { openProgress } from "./soak-progress.ts";
import { tableOf } from "./table.ts";

/** In the order in which they are measured. */
const rows: readonly Row[] = [
  loopRow,
  stepsRow,
  merkleRow,
  appendRow,
  performRow,
  decisionRow,
  policyMutantsRow,
  hostileRequestsRow,
  lostAnswersRow,
  redactorRow,
  bookkeepingRow,
  verifyRow,
  sandboxRow,
  outputRow,
  checkoutRow,
  intakeRow,
  webhookRow,
  startRow,
  demoRow,
  editsRow,
  outageRow,
];

export const rowNames: readonly string[] = rows.map(({ name }) => name);

/** What is to be measured: one row, or all. `show` gets the table of each row as soon as it is there. */
export type BenchRequest = {
  readonly only: string | null;
  readonly size: Size;
  readonly show: (table: string) => void;
};

export type BenchReport = {
  readonly json: JsonObject;
  /** Whether each figure holds that has nothing of the machine in it. Times are printed beside their goals, never judged. */
  readonly ok: boolean;
};

/**
 * Measures the rows asked for, one after another, each beside its floors in the same run, and removes all that it made. A soak
 * that was stopped goes on after the last row, or part of a row, that it finished.
 * Throws `USAGE` for a row that there is none of, the reason of the signal, and what a measured part throws.
 */
export async function runBench(
  deps: BenchDeps,
  settings: BenchSettings,
  { only, size, show }: BenchRequest,
  signal: AbortSignal,
): Promise<BenchReport> {
  const asked = rows.filter(({ name }) => only === null || name === only);
  if (asked.length === 0) {
    throw new CountersignError("USAGE", `there is no row \`${only}\``, {
      remedy: `take one of ${rowNames.join(", ")}`,
    });
  }
  const progress = await openProgress(settings.home, size);
  await using place = await openBenchPlace(deps, settings, progress, signal);
  const measured: { readonly row: Row; readonly figures: readonly Figure[] }[] = [];
  for (const row of asked) {
    deps.progress(`${row.name}: ${row.title}`);
    const figures = await progress.part(row.name, () => row.measure(place, size, signal));
    show(`${row.name}: ${row.title}\n${tableOf(figures)}\n`);
    measured.push({ row, figures });
  }
  await progress.forget();
  return {
    json: {
      size,
      resumedParts: progress.resumedParts,
      machine: machine(),
      rows: measured.map(({ row, figures }) => ({
        name: row.name,
        title: row.title,
        figures: figures.map(figureJson),
      })),
    },
    ok: measured.every(({ figures }) => figures.every((one) => one.goal?.isExact !== true || isMet(one) === true)),
  };
}

/** What a reader needs to judge the absolute values. */
const machine = (): JsonObject => ({
  node: process.versions.node,
  kernel: release(),
  architecture: arch(),
  processors: availableParallelism(),
  loadAverage: loadavg()[0] ?? 0,
});
