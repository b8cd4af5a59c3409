import type { FoundFunction } from "./locate-function.ts";
import { ask, brief, type Plan, type Stuck, stuck } from "./plan.ts";
import { type NumberedLine, windowOf } from "./tool-answer.ts";

/** A function's text as it was read, and what was read around it. */
export type Source = {
  readonly kind: "source";
  readonly path: string;
  readonly window: readonly NumberedLine[];
  /** The lines of the function, its first line included. */
  readonly lines: readonly NumberedLine[];
};

const linesBefore = 4;
const windowLines = 100;

/** Reads the function, and checks that the file says at that line what the search said. */
export function* readFunction(found: FoundFunction): Plan<Source | Stuck> {
  const lineFrom = Math.max(1, found.line - linesBefore);
  const answer = yield* ask(`So I give the line as a number.`, "read_file", {
    path: found.path,
    line_from: lineFrom,
    line_count: windowLines,
  });
  const window = answer?.status === "ok" ? windowOf(answer) : [];
  const first = window.findIndex((line) => line.number === found.line);
  if (window[0]?.number !== lineFrom || window[first]?.text.trim() !== found.lineText.trim())
    return stuck(`the search and the file disagree on line ${found.line} of \`${found.path}\`: ${brief(answer)}`);
  return { kind: "source", path: found.path, window, lines: functionLines(window.slice(first)) };
}

/** The function ends before the next line that is indented no deeper than its first, a closing brace included. */
function functionLines(lines: readonly NumberedLine[]): readonly NumberedLine[] {
  const depth = indentation(lines[0]?.text ?? "");
  const end = lines.findIndex((line, index) => index > 0 && line.text.trim() !== "" && indentation(line.text) <= depth);
  if (end === -1) return lines;
  return lines.slice(0, /^\s*[}\])]/.test(lines[end]?.text ?? "") ? end + 1 : end);
}

const indentation = (text: string): number => text.length - text.trimStart().length;
