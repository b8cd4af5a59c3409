import {
  countCycle,
  countFormatErrors,
  countIdleTurns,
  countRefusedEdits,
  countRepeats,
  countReturns,
  countTimeouts,
  startCounts,
} from "./stuck-rules.ts";
import type { CallResult, LoopEnd } from "./turn.ts";

type Rule = {
  readonly name: keyof typeof startCounts;
  /** Counts from which the model is nudged, and from which the loop ends (ACI-69; from the third row on: tune). */
  readonly nudgeAt: number;
  readonly stopAt: number;
  readonly end: LoopEnd;
};

/** The table of ACI-69, row by row. */
const rules: readonly Rule[] = [
  { name: "repeats", nudgeAt: 3, stopAt: 5, end: { kind: "stuck", rule: "the same call with the same result" } },
  { name: "cycle", nudgeAt: 3, stopAt: 5, end: { kind: "stuck", rule: "the same calls in a circle" } },
  { name: "returns", nudgeAt: 2, stopAt: 4, end: { kind: "stuck", rule: "a file changed to and fro" } },
  { name: "refusedEdits", nudgeAt: 4, stopAt: 8, end: { kind: "stuck", rule: "refused edits of one file" } },
  { name: "idleTurns", nudgeAt: 12, stopAt: 24, end: { kind: "stuck", rule: "turns without anything new" } },
  { name: "formatErrors", nudgeAt: 1, stopAt: 3, end: { kind: "format_errors" } },
  { name: "timeouts", nudgeAt: 2, stopAt: 3, end: { kind: "stuck", rule: "commands that time out" } },
];

/** What is remembered from turn to turn. */
export type Watch = {
  readonly counts: typeof startCounts;
  /** Rules whose nudge the model has read and that still hold. */
  readonly nudged: readonly Rule["name"][];
  /** Files that must be read before the next edit of them is taken up. */
  readonly mustRead: ReadonlySet<string>;
};

export const startWatch: Watch = { counts: startCounts, nudged: [], mustRead: new Set() };

export type Observation = {
  readonly watch: Watch;
  /** Texts for the model, to stand below the last answer of the turn. */
  readonly nudges: readonly string[];
  readonly end: LoopEnd | null;
};

/**
 * Looks at the results of one turn. A stop never comes with the turn in which its nudge was first due: a model that sends
 * many calls at once has not read the answers to the first of them.
 */
export function observe(before: Watch, results: readonly CallResult[]): Observation {
  const counts = {
    repeats: countRepeats(before.counts.repeats, results),
    cycle: countCycle(before.counts.cycle, results),
    returns: countReturns(before.counts.returns, results),
    refusedEdits: countRefusedEdits(before.counts.refusedEdits, results),
    idleTurns: countIdleTurns(before.counts.idleTurns, results),
    formatErrors: countFormatErrors(before.counts.formatErrors, results),
    timeouts: countTimeouts(before.counts.timeouts, results),
  };
  const due = rules.filter(({ name, nudgeAt }) => counts[name].count >= nudgeAt);
  const isNews = ({ name }: Rule): boolean => counts[name].count > before.counts[name].count;
  const isToTell = (rule: Rule): boolean => !before.nudged.includes(rule.name) || (rule.nudgeAt === 1 && isNews(rule));
  const isOver = ({ name, stopAt }: Rule): boolean => before.nudged.includes(name) && counts[name].count >= stopAt;
  return {
    watch: { counts, nudged: due.map(({ name }) => name), mustRead: counts.refusedEdits.memory.mustRead },
    nudges: due.filter(isToTell).map(({ name }) => counts[name].told),
    end: due.find(isOver)?.end ?? null,
  };
}
