import { cutShort } from "./mistakes.ts";
import { type Candidate, candidatesFor } from "./mutations.ts";
import { brief, type Call, type Plan, type Stuck, stuck } from "./plan.ts";
import type { Source } from "./read-function.ts";
import { type Answer, isRefusedFor, type NumberedLine } from "./tool-answer.ts";

type Repaired = { readonly kind: "repaired"; readonly description: string };

/** Each try runs the tests; more tries than this are no repair any more but luck. */
const maxTries = 48;
/** How far an anchor may grow at either side until it occurs once. */
const maxWidening = 6;

/** One changed line; the state of the file is the base with at most one of them. */
type Change = { readonly number: number; readonly text: string };

/** Tries one-line changes, the likeliest first, until the tests pass. `hints` is the issue and what the tests printed. */
export function* repair(source: Source, hints: string): Plan<Repaired | Stuck> {
  const candidates = candidatesFor(source.lines, hints).slice(0, maxTries);
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

/** Takes the change before back and makes the next one in one edit, widening the anchor while it occurs more than once. */
function* tryChange(source: Source, before: Change | null, next: Candidate): Plan<Tried | Stuck> {
  for (let widening = narrowest(source, before, next); widening <= maxWidening; widening += 1) {
    const area = areaOf(source, before, next, widening);
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
  if (!edited.body.includes(next.text.trim())) return stuck(`the edit's answer doesn't show it: ${brief(edited)}`);
  if (tests?.status === "ok") return { kind: "passes" };
  return tests?.status === "failed" ? { kind: "fails" } : stuck(`the tests were not run: ${brief(tests)}`);
}

/** The lines that both changes lie in, and `widening` lines around them. */
function areaOf(source: Source, before: Change | null, next: Change, widening: number): readonly NumberedLine[] {
  const from = Math.min(before?.number ?? next.number, next.number) - widening;
  const to = Math.max(before?.number ?? next.number, next.number) + widening;
  return source.window.filter((line) => line.number >= from && line.number <= to);
}

/** The least widening with which the anchor occurs once in what was read. */
function narrowest(source: Source, before: Change | null, next: Change): number {
  const text = textWith(source.window, before);
  for (let widening = 0; widening < maxWidening; widening += 1) {
    const anchor = textWith(areaOf(source, before, next, widening), before);
    if (text.indexOf(anchor) === text.lastIndexOf(anchor)) return widening;
  }
  return maxWidening;
}

const textWith = (lines: readonly NumberedLine[], change: Change | null): string =>
  lines.map((line) => (line.number === change?.number ? change.text : line.text)).join("\n");

const edit = (path: string, anchor: string, replacement: string): Call => ({
  tool: "edit_file",
  arguments: { path, edits: [{ anchor, replacement }] },
});

const runTests: Call = { tool: "run_tests", arguments: { filter: null } };
