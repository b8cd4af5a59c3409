import type { JsonObject } from "../domain/index.ts";
import type { Demo, KeptRecord } from "./cli-deps.ts";
import { actionTable, reportJson, testsText } from "./run-report-view.ts";
import { duration, inLine } from "./terminal.ts";

/** The contract's object (architecture, section 1.7), with what the demonstration found out besides. */
export function demoJson(demo: Demo, isKept: boolean): JsonObject {
  const { report, ledger, trace } = demo;
  return {
    ...reportJson(isKept ? report : { ...report, patchKept: null }),
    ledger: { size: ledger.size, root_hash: ledger.rootHash, verified: ledger.verified },
    head_as_tested: demo.isHeadAsTested,
    trace: { spans: trace.spanCount, whole: trace.isWhole },
    phases: demo.timings.map(({ part, durationMs }) => ({ name: part, duration_ms: durationMs })),
  };
}

/** What came of it, for a person. */
export function demoText(demo: Demo): string {
  const { report, ledger, trace } = demo;
  const { pullRequest, tests, diffStat } = report;
  const heads = { true: "fetched by git, exactly what was tested", false: "NOT WHAT WAS TESTED", null: "none" };
  const lines = [
    `pull request  ${pullRequest === null ? `none: ${report.cause}` : `#${pullRequest.number}  ${pullRequest.url}`}`,
    `change        ${diffStat.files} ${diffStat.files === 1 ? "file" : "files"}, +${diffStat.added} -${diffStat.removed}`,
    `tests         ${tests.command ?? "no command"}: before ${testsText(tests.before)}, after ${testsText(tests.after)}`,
    `head          ${pullRequest?.headSha.slice(0, 12) ?? "-"}, ${heads[`${demo.isHeadAsTested}`]}`,
    `trace         ${report.traceId}, ${trace.spanCount} spans received, ${trace.isWhole ? "one whole tree" : "NOT WHOLE"}`,
    `ledger        ${ledger.size} entries, root ${ledger.rootHash}, ${ledger.verified ? "verified" : "NOT VERIFIED"}`,
    `time          ${demo.timings.map(({ part, durationMs }) => `${part} ${duration(durationMs)}`).join(", ")}`,
  ];
  return `\n${actionTable(report.actions)}\n${lines.map((line) => `${inLine(line)}\n`).join("")}`;
}

/** How to look further. What is not kept is gone when this is read. */
export function nextText({ report, home, publishedBy, hasSucceeded }: Demo, kept: KeptRecord | null): string {
  if (kept === null) return hasSucceeded ? "\nTo trace one action yourself, keep it: npm run demo -- --keep\n" : "";
  const command = `COUNTERSIGN_HOME=${home} npx --no -- countersign`;
  const lines = [
    "",
    "Trace one action, from what was published back to what was proposed and decided:",
    `  ${command} audit find --run ${report.runId}`,
    ...(publishedBy === null ? [] : [`  ${command} audit show ${publishedBy}`]),
    `  ${command} audit verify`,
    ...(kept.argumentsFile === null
      ? []
      : [
          "Arguments that you know are found by their keyed hash, in the trace as well; here those of this action:",
          `  ${command} audit hash --run ${report.runId} ${kept.argumentsFile}`,
          `  ${command} audit find --arguments ${kept.argumentsFile}`,
        ]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** While everything is left running. */
export function keptText({ places, home }: Demo, { sizeBytes }: KeptRecord): string {
  const lines = [
    "",
    "still running:",
    ...places.map(({ name, address }) => `  ${name.padEnd(13)} ${address}`),
    `Ctrl-C stops it; the record stays in ${home} until you remove that folder:`,
    `  rm -rf ${home}    # ${Math.ceil(sizeBytes / 1024 ** 2)} MiB`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}
