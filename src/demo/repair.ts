import { cutShort } from "./mistakes.ts";
import { type Candidate, candidatesFor } from "./mutations.ts";
import { brief, type Call, type Plan, type Stuck, stuck } from "./plan.ts";
import type { Source } from "./read-function.ts";
import { type Answer, isRefusedFor, type NumberedLine } from "./tool-answer.ts";

type Repaired = { readonly kind: "repaired"; readonly description: string };

/** Each try runs the tests; more tries than this are no repair any more but luck. */
const maxTries = 48;

/** One changed line; the state of the file is the base with at most one of them. */
type Change = { readonly number: number; readonly text: string };

/** Tries one-line changes, the likeliest first, until the tests pass. */
export function* repair(source: Source, issue: string, failures: string): Plan<Repaired | Stuck> {
  const candidates = candidatesFor(source.lines, issue, failures).slice(0, maxTries);
  const [first] = candidates;
  if (first === undefined) return stuck("the function has nothing that I could change");
  const careless = yield* cutShort(source, first);
  if (careless !== null) return careless;
  let applied: Change | null = null;
  for (const candidate of candidates) {
    const tried: Tried | Stuck = yield* tryChange(source, applied, candidate);
    if (tried.kind === "passes") return { kind: "repaired", description: candidate.description };
    if (tried.kind === "stuck") return tried;
    if (tried.kind === "fails") applied = candidate;
  }
  return stuck(`none of ${candidates.length} changes of the function made the tests pass`);
}

type Tried = { readonly kind: "passes" } | { readonly kind: "fails" } | { readonly kind: "no_syntax" };

/** Takes the change before back and makes the next one in one edit, with a longer anchor while it occurs more than once. */
function* tryChange(source: Source, before: Change | null, next: Candidate): Plan<Tried | Stuck> {
  for (const area of areasFor(source, before, next)) {
    const [edited, tests] = yield {
      say: `I try: ${next.description}.`,
      calls: [edit(source.path, textWith(area, before), textWith(area, next)), runTests],
    };
    if (!isRefusedFor(edited, "anchor_ambiguous")) return judge(next, edited, tests);
  }
  return stuck(`no anchor at line ${next.number} occurs only once`);
}

function judge(next: Change, edited: Answer | undefined, tests: Answer | undefined): Tried | Stuck {
  if (isRefusedFor(edited, "syntax_error")) return { kind: "no_syntax" };
  if (edited?.status !== "ok") return stuck(`an exact anchor was refused: ${brief(edited)}`);
  if (!edited.body.split("\n").includes(`${next.number}\t${next.text}`))
    return stuck(`the edit's answer doesn't show it: ${brief(edited)}`);
  if (tests?.status === "ok") return { kind: "passes" };
  return tests?.status === "failed" ? { kind: "fails" } : stuck(`the tests were not run: ${brief(tests)}`);
}

type Lines = readonly NumberedLine[];

/**
 * The lines to anchor at, shortest first: as few as occur once in what was read, some more, and from the function's first
 * line on, whose name occurs in no other. They are few, since each refused edit counts against the run.
 */
function areasFor({ window, lines }: Source, before: Change | null, next: Change): readonly Lines[] {
  const from = Math.min(before?.number ?? next.number, next.number);
  const to = Math.max(before?.number ?? next.number, next.number);
  const around = (widening: number): Lines =>
    window.filter(({ number }) => number >= from - widening && number <= to + widening);
  const text = textWith(window, before);
  const narrowest = window.findIndex((_, widening) => occursOnce(text, textWith(around(widening), before)));
  return [around(narrowest), around(narrowest + 2), lines.filter(({ number }) => number <= to)];
}

const occursOnce = (text: string, piece: string): boolean => text.indexOf(piece) === text.lastIndexOf(piece);

const textWith = (lines: Lines, change: Change | null): string =>
  lines.map((line) => (line.number === change?.number ? change.text : line.text)).join("\n");

const edit = (path: string, anchor: string, replacement: string): Call => ({
  tool: "edit_file",
  arguments: { path, edits: [{ anchor, replacement }] },
});

const runTests: Call = { tool: "run_tests", arguments: { filter: null } };
