import type { RemovedCounts } from "../../agent/index.ts";
import {
  type Checkpoint,
  cutRedacted,
  type FileChange,
  type Redacted,
  type RunId,
  type TraceId,
} from "../../domain/index.ts";
import { cutText, fenced, inactiveLines, inertLine } from "../../github/index.ts";
import type { RunReport, TestRun, WithheldChange } from "../run-report.ts";
import { cappedList, count, inCell, inCode, inSeconds, ownInCode } from "./markdown.ts";
import { type NotDone, notDoneText, type ToolCount } from "./not-done.ts";
import { checkpointText } from "./status-text.ts";

/** What the pull request says: facts of the host, and last what the model says, called the model's (GH-100). */
export type PullRequestTextFacts = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  /** Null: no issue on GitHub, but a file of the local user's. */
  readonly issue: number | null;
  readonly requester: { readonly login: string; readonly id: string };
  /** By what it was asked for: an event of GitHub's, or a command. */
  readonly event: string;
  readonly askedAt: string;
  /** SHA-256 of the text of the issue at the trigger, or of the file. */
  readonly textDigest: string;
  /** Taken out of the texts of the issue before the model saw them, by kind (SEC-15). */
  readonly hiddenRemoved: RemovedCounts;
  readonly isVerified: boolean;
  readonly cause: string;
  readonly base: { readonly branch: string; readonly sha: string };
  /** Commits that the base branch has meanwhile (GH-87). */
  readonly behindBy: number;
  readonly changes: readonly Pick<FileChange, "path" | "before" | "after">[];
  readonly diffStat: RunReport["diffStat"];
  readonly tests: RunReport["tests"];
  readonly actions: readonly ToolCount[];
  readonly notDone: readonly NotDone[];
  readonly leftOut: readonly string[];
  readonly withheld: readonly WithheldChange[];
  readonly checkpoint: Checkpoint;
  readonly publicUrl: string | null;
  readonly summary: string;
};

const titleLength = 72;
const reasonLength = 500;
const listedAtMost = 50;
const summaryAtMost = 16_384;

/** The model's title made inert, at most 72 characters; `Fix #n` where it gave none (GH-101). */
export const pullRequestTitle = (title: Redacted<string>, issue: number | null): string =>
  titleOr(title, issue === null ? `Change asked for in ${nameOf(issue)}` : `Fix #${issue}`);

const nameOf = (issue: number | null): string => (issue === null ? "a local file" : `#${issue}`);

function titleOr(title: Redacted<string>, otherwise: string): string {
  const line = inertLine(title);
  return line === "" ? otherwise : cutRedacted(line, titleLength);
}

/** Subject, reason and the trailers that lead back to the record (GH-83). */
export function commitMessage(
  facts: Redacted<Pick<PullRequestTextFacts, "runId" | "traceId" | "issue" | "cause"> & { readonly title: string }>,
): string {
  const { runId, traceId, issue, cause, title } = facts;
  return [
    titleOr(title, `Change asked for in ${nameOf(issue)}`), // on the default branch a keyword of ours would close the issue
    "",
    `Asked for in ${nameOf(issue)}. Checked by the host: ${cutRedacted(inertLine(cause), reasonLength)}.`,
    "",
    `Countersign-Run: ${runId}`,
    `Countersign-Trace: ${traceId}`,
    "",
  ].join("\n");
}

/** The body, cut to what GitHub takes; only the host writes keywords and references in it (SEC-115). */
export function pullRequestText(facts: Redacted<PullRequestTextFacts>): string {
  const { runId, issue, isVerified, cause } = facts;
  const lines = [
    `${isVerified ? "**Verified**" : "**Not verified**"}: ${inCode(cause)}`,
    ...(issue === null ? [] : ["", `Refs #${issue}`]),
    ...asked(facts),
    ...changed(facts),
    ...tested(facts.tests),
    ...acted(facts),
    ...notPublished(facts),
    ...recorded(facts),
    ...summarized(facts),
  ];
  return cutText(lines.join("\n"), `countersign runs show ${runId}`);
}

function asked(facts: Redacted<PullRequestTextFacts>): readonly string[] {
  return ["", "### What was asked", "", askedLine(facts), ...hiddenLines(facts.hiddenRemoved)];
}

/** How much and of which kinds, never what it was (SEC-15). */
function hiddenLines(removed: RemovedCounts): readonly string[] {
  const kinds = Object.entries(removed);
  if (kinds.length === 0) return [];
  const total = kinds.reduce((sum, [, times]) => sum + times, 0);
  const listed = kinds.map(([kind, times]) => `${times} ${kind.replaceAll("_", " ")}`).join(", ");
  return ["", `${count(total, "hidden item")} removed from the text before the model saw it: ${listed}.`];
}

function askedLine({ issue, requester, event, askedAt, textDigest }: Redacted<PullRequestTextFacts>): string {
  const { login, id } = requester;
  const how = `at ${ownInCode(askedAt)} by ${inCode(event)}`;
  if (issue !== null) {
    const by = `${inCode(login)} (id ${inCode(id)})`;
    return `Asked for by ${by} ${how}. The text of the issue as it was then was used; SHA-256 ${ownInCode(textDigest)}.`;
  }
  // Who that is on their machine is nobody's business here: the record knows.
  return `Asked for by the local user ${inCode(id)} ${how}. The issue is a file of that user's and not on GitHub; SHA-256 ${ownInCode(textDigest)}.`;
}

function changed({ base, behindBy, changes, diffStat }: Redacted<PullRequestTextFacts>): readonly string[] {
  const behind = behindBy === 0 ? "" : `; the branch has gone on by ${count(behindBy, "commit")} since`;
  return [
    "",
    "### What changed",
    "",
    `${count(diffStat.files, "file")}, +${diffStat.added} -${diffStat.removed}, on ${inCode(base.branch)} at ${ownInCode(base.sha)}${behind}.`,
    "",
    ...cappedList(
      changes.map((change) => `${inCode(change.path)} (${changeWord(change)})`),
      listedAtMost,
    ),
  ];
}

function changeWord({ before, after }: Redacted<Pick<FileChange, "before" | "after">>): string {
  if (after === null) return "deleted";
  return before === null ? "added" : "changed";
}

function tested({ command, derived, before, after }: Redacted<RunReport["tests"]>): readonly string[] {
  if (command === null) return ["", "### Tests", "", "The repository names no verify command: nothing was run."];
  const row = (name: string, run: Redacted<TestRun> | null): string =>
    `| ${name} | ${run === null ? "not run | | | " : testCells(run)} |`;
  return [
    "",
    "### Tests",
    "",
    `${inCode(command)}${derived ? ", derived from the repository's files" : ""}; run by the host on a fresh tree without network.`,
    "",
    "| | exit status | passed | failed | time |",
    "|---|---|---|---|---|",
    row("before", before),
    row("after", after),
  ];
}

function testCells(run: Redacted<TestRun>): string {
  return `${exitText(run)} | ${run.passedCount ?? ""} | ${run.failedCount ?? ""} | ${inSeconds(run.durationMs)}`;
}

function exitText({ missing, timedOut, exitCode }: Redacted<TestRun>): string {
  if (missing !== null) return "could not be run";
  return timedOut ? "timed out" : String(exitCode ?? "none");
}

function acted({ actions, notDone }: Redacted<PullRequestTextFacts>): readonly string[] {
  return [
    "",
    "### Actions",
    "",
    "| action | done | denied by policy | refused | other |",
    "|---|---|---|---|---|",
    ...actions.map(
      ({ tool, done, denied, refused, other }) => `| ${inCell(tool)} | ${done} | ${denied} | ${refused} | ${other} |`,
    ),
    ...(notDone.length === 0
      ? ["", "Every action that was proposed was done."]
      : ["", "Not done, and why:", "", ...cappedList(notDone.map(notDoneText), listedAtMost)]),
  ];
}

function notPublished({ leftOut, withheld }: Redacted<PullRequestTextFacts>): readonly string[] {
  if (leftOut.length + withheld.length === 0) return [];
  const items = [
    ...leftOut.map((path) => `${inCode(path)}: no authorized action wrote it`),
    ...withheld.map(({ path, policyIds }) => `${inCode(path)}: withheld by ${policyIds.map(inCode).join(", ")}`),
  ];
  return ["", "### Left out of this pull request", "", ...cappedList(items, listedAtMost)];
}

function recorded({ runId, traceId, checkpoint, publicUrl }: Redacted<PullRequestTextFacts>): readonly string[] {
  return [
    "",
    "### Record",
    "",
    ...(publicUrl === null ? [] : [`[What happened in this run](${publicUrl}/runs/${runId})`, ""]),
    `Run ${ownInCode(runId)}, trace ${ownInCode(traceId)}. Before publishing: ${checkpointText(checkpoint)}.`,
    "",
    "```sh",
    `countersign runs show ${runId}`,
    `countersign audit show ${runId}`,
    `countersign audit find --trace ${traceId}`,
    "```",
  ];
}

function summarized({ summary, runId }: Redacted<PullRequestTextFacts>): readonly string[] {
  if (summary.trim() === "") return [];
  const inactive = inactiveLines(summary);
  const cut = cutText(inactive, `countersign runs show ${runId}`, summaryAtMost) as Redacted<string>;
  return ["", "### The model's summary", "", "Written by the model and checked by nobody:", "", fenced(cut)];
}
