import type { Budget, Checkpoint, Conclusion, Redacted, RunId, TraceId, TriggerVerb } from "../../domain/index.ts";
import { cutText } from "../../github/index.ts";
import type { RunPhase } from "../run-deps.ts";
import type { RunReport, WithheldChange } from "../run-report.ts";
import { cappedList, count, inCode, inDigits, inSeconds, ownInCode } from "./markdown.ts";
import { type NotDone, notDoneText } from "./not-done.ts";
import type { WaitingQuestion } from "./put-questions.ts";

/** What the status comment says of a run; all of it known to the host (GH-42, GH-45). */
export type StatusFacts = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly verb: TriggerVerb;
  readonly requestedBy: string;
  readonly byLabel: boolean;
  readonly attempt: number;
  /** How often it rested because the log could not be written (AUD-59). */
  readonly outageCount: number;
  /** Null until GitHub has told it. */
  readonly base: { readonly branch: string; readonly sha: string } | null;
  readonly phase: RunPhase;
  /** Questions that wait for a person; empty while the run goes on. */
  readonly waitingFor: readonly Pick<WaitingQuestion, "approvalId" | "tool" | "expiresAt">[];
  readonly used: { readonly turns: number; readonly inputTokens: number; readonly outputTokens: number };
  /** Null until the settings have been read. */
  readonly limits: Budget | null;
  /** Null where no address of ours is known to people (GH-47). */
  readonly publicUrl: string | null;
  readonly end: StatusEnd | null;
};

/** The end of a run as the last edit tells it. */
export type StatusEnd = {
  readonly conclusion: Conclusion;
  readonly cause: string;
  /** What a person can do about it; null where there is nothing to do. */
  readonly remedy: string | null;
  readonly pullRequest: RunReport["pullRequest"];
  readonly notDone: readonly NotDone[];
  readonly leftOut: readonly string[];
  readonly withheld: readonly WithheldChange[];
  /** The command that prints the patch; null where nothing had changed. */
  readonly patchKept: string | null;
  readonly durationMs: number;
  readonly checkpoint: Checkpoint;
};

const phases: Readonly<Record<RunPhase, string>> = {
  prepare: "fetching the repository",
  verify_before: "running the tests before any change",
  work: "working on it",
  verify_after: "running the tests on the change",
  publish: "publishing the change",
  settle: "writing the record",
};

const conclusions: Readonly<Record<Conclusion, string>> = {
  success: "is done",
  failure: "did not succeed",
  cancelled: "was stopped",
  timed_out: "ran out of time",
  action_required: "needs a person",
  neutral: "has ended",
};

/** Most refusals, files and causes that are listed; the record has them all. */
const listedAtMost = 20;

/** The status comment, from facts alone: it mentions nobody, and nothing in it is acted on by GitHub (SEC-115). */
export function statusText(facts: Redacted<StatusFacts>): string {
  const { end } = facts;
  const lines = end === null ? underWay(facts) : ended(facts, end);
  return cutText([...lines, "", ...howToLook(facts)].join("\n"), `countersign runs show ${facts.runId}`);
}

function underWay(facts: Redacted<StatusFacts>): readonly string[] {
  const { limits, used, base, attempt } = facts;
  const left =
    limits === null
      ? []
      : [
          `- left at most: ${count(Math.max(0, limits.turns - used.turns), "turn")} within ${count(limits.minutes, "minute")}`,
        ];
  return [
    facts.waitingFor.length > 0
      ? "**Countersign** waits for a person's answer."
      : `**Countersign** is ${phases[facts.phase]}.`,
    "",
    ...facts.waitingFor.flatMap(waitingText),
    `- asked for by ${inCode(facts.requestedBy)}`,
    ...(base === null ? [] : [`- base: ${inCode(base.branch)} at ${ownInCode(base.sha)}`]),
    `- spent: ${spentText(facts)}`,
    ...left,
    ...(attempt === 0 ? [] : [`- taken up again ${count(attempt, "time")} after its worker was lost`]),
    ...outageText(facts),
    `- to stop it: ${howToStop(facts)}`,
  ];
}

const waitingText = ({
  approvalId,
  tool,
  expiresAt,
}: Redacted<StatusFacts>["waitingFor"][number]): readonly string[] => [
  `- waits until ${ownInCode(expiresAt)} for a yes to ${inCode(tool)}: ${ownInCode(`/countersign approve ${approvalId}`)} or ${ownInCode(`/countersign deny ${approvalId}`)}`,
];

const outageText = ({ outageCount }: Redacted<StatusFacts>): readonly string[] =>
  outageCount === 0 ? [] : [`- begun anew ${count(outageCount, "time")} after the log could not be written`];

const howToStop = ({ byLabel }: Redacted<StatusFacts>): string =>
  byLabel ? "remove the label, or comment `/countersign stop`" : "comment `/countersign stop`, or close the issue";

function spentText({ used }: Redacted<StatusFacts>): string {
  const { turns, inputTokens, outputTokens } = used;
  return `${count(turns, "turn")}, ${inDigits(inputTokens)} tokens in, ${inDigits(outputTokens)} out`;
}

function ended(facts: Redacted<StatusFacts>, end: Redacted<StatusEnd>): readonly string[] {
  const { base, requestedBy } = facts;
  return [
    `**Countersign** ${conclusions[end.conclusion]}: ${inCode(end.cause)}`,
    "",
    ...(end.pullRequest === null ? [] : [`- opened: ${openedText(end.pullRequest)}`]),
    ...(end.remedy === null ? [] : [`- what to do: ${inCode(end.remedy)}`]),
    ...(end.patchKept === null || end.pullRequest !== null
      ? []
      : [`- kept: the change so far; print it with ${ownInCode(end.patchKept)}`]),
    `- asked for by ${inCode(requestedBy)}`,
    ...(base === null ? [] : [`- base: ${inCode(base.branch)} at ${ownInCode(base.sha)}`]),
    `- spent: ${spentText(facts)}, ${inSeconds(end.durationMs)}`,
    `- conclusion: ${ownInCode(end.conclusion)}`,
    ...outageText(facts),
    ...section("Not done, and why", end.notDone.map(notDoneText)),
    ...section("Changed but not published", [
      ...end.leftOut.map((path) => `${inCode(path)}: no authorized action wrote it`),
      ...end.withheld.map(({ path, policyIds }) => `${inCode(path)}: withheld by ${policyIds.map(inCode).join(", ")}`),
    ]),
    ...(end.pullRequest === null ? ["", checkpointText(end.checkpoint)] : []),
  ];
}

const openedText = ({ number, isDraft, isConfirmed }: NonNullable<Redacted<StatusEnd>["pullRequest"]>): string =>
  `#${number}${isDraft ? " (draft)" : ""}${isConfirmed ? "" : " (not confirmed: GitHub could not be asked again)"}`;

export const checkpointText = ({ origin, size, rootHash }: Redacted<Checkpoint>): string =>
  `Ledger ${inCode(origin)}: ${count(size, "entry").replace("entrys", "entries")}, root ${ownInCode(rootHash)}`;

function section(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : ["", `${title}:`, "", ...cappedList(items, listedAtMost)];
}

function howToLook({ runId, traceId, publicUrl }: Redacted<StatusFacts>): readonly string[] {
  return [
    ...(publicUrl === null ? [] : [`[What happened in this run](${publicUrl}/runs/${runId})`, ""]),
    `Run ${ownInCode(runId)}, trace ${ownInCode(traceId)}. To look at it: ${ownInCode(`countersign runs show ${runId}`)}`,
  ];
}
