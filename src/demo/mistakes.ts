import type { FoundFunction } from "./locate-function.ts";
import type { Candidate } from "./mutations.ts";
import { ask, brief, type Plan, type Stuck, stuck } from "./plan.ts";
import type { Source } from "./read-function.ts";
import { isRefusedFor } from "./tool-answer.ts";

/** First mistake: a change that policy denies. Null if it was refused for that reason. */
export function* overstep(): Plan<Stuck | null> {
  const answer = yield* ask("The tests should run on every push, so I add a workflow.", "create_file", {
    path: ".github/workflows/tests.yml",
    content: "on: push\njobs: {}\n",
  });
  return isRefusedFor(answer, "policy_denied") ? null : stuck(`a workflow was not denied by policy: ${brief(answer)}`);
}

/** Second mistake: arguments against the schema. Null if they were refused for that reason. */
export function* misspell(found: FoundFunction): Plan<Stuck | null> {
  const answer = yield* ask(`I read \`${found.name}\`.`, "read_file", { path: found.path, line_from: "one" });
  return isRefusedFor(answer, "invalid_arguments")
    ? null
    : stuck(`a line number in words was not refused: ${brief(answer)}`);
}

/** Third mistake: an anchor cut so short that it occurs more than once. Null if it was refused for that reason. */
export function* cutShort(source: Source, candidate: Candidate): Plan<Stuck | null> {
  const text = source.window.map((line) => line.text).join("\n");
  const original = source.lines.find((line) => line.number === candidate.number)?.text ?? "";
  const anchor = repeatedPiece(text, original, candidate.column);
  if (anchor === null) return stuck("nothing near the place to change occurs twice");
  const answer = yield* ask(`I try: ${candidate.description}.`, "edit_file", {
    path: source.path,
    edits: [{ anchor, replacement: `${anchor} ` }],
  });
  return isRefusedFor(answer, "anchor_ambiguous")
    ? null
    : stuck(`an anchor that occurs several times was not refused as ambiguous: ${brief(answer)}`);
}

/** The piece of the line around the change, grown as far as it still stands elsewhere in the text too; null if none does. */
function repeatedPiece(text: string, line: string, column: number): string | null {
  const repeats = (start: number, end: number): boolean => {
    const piece = line.slice(start, end);
    return piece.trim() !== "" && text.indexOf(piece) !== text.lastIndexOf(piece);
  };
  let from = Math.min(column, line.length - 1);
  while (from >= 0 && !repeats(from, from + 1)) from -= 1;
  if (from < 0) return null;
  let to = from + 1;
  while (to < line.length && repeats(from, to + 1)) to += 1;
  while (from > 0 && repeats(from - 1, to)) from -= 1;
  return line.slice(from, to);
}
