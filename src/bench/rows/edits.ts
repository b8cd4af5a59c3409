import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { equal, figure } from "../figure.ts";
import { printed } from "../floor-loop.ts";
import type { Row } from "./row.ts";

const functionCount = 24;

/** 24 functions of five lines; all but the last line of each name the parameter, and all but the first are the same. */
function linesOf(renamed: number | null): readonly string[] {
  return Array.from({ length: functionCount }, (_, at) => {
    const name = at === renamed ? "amount" : "value";
    return [
      `export function step${at}(${name}) {`,
      `  const doubled = ${name} * 2;`,
      `  const squared = ${name} * ${name};`,
      `  return doubled + squared - ${name};`,
      "}",
    ];
  }).flat();
}

/** ACI-49: lines that a model writes to rename one parameter, by the form of the edit. */
export const editsRow: Row = {
  name: "edits",
  title: "lines written to rename one parameter in a file of 120 lines",
  measure: async ({ folder }) => {
    const before = linesOf(null);
    const after = linesOf(functionCount / 2);
    const paths = { before: join(folder, "before.js"), after: join(folder, "after.js") };
    await writeFile(paths.before, `${before.join("\n")}\n`);
    await writeFile(paths.after, `${after.join("\n")}\n`);
    const { from, to } = smallestAnchor(before, after);
    const anchorEdit = [...before.slice(from, to), ...after.slice(from, to)];
    const rename = { name: "rename_symbol", arguments: { path: "before.js", line: from + 1, to: "amount" } };
    return [
      figure("whole rewrite", "lines", [after.length], equal(120)),
      figure("unified diff", "lines", [await linesOfDifference(paths.before, paths.after)], equal(17)),
      figure("anchor and replacement", "lines", [anchorEdit.length], equal(8)),
      figure("structural rename", "lines", [JSON.stringify(rename).split("\n").length], equal(1)),
    ];
  },
};

/** The fewest whole lines that hold every change and stand only once in the file. `to` is past the last. */
function smallestAnchor(before: readonly string[], after: readonly string[]): { from: number; to: number } {
  const changed = before.flatMap((line, at) => (line === after[at] ? [] : [at]));
  const first = changed[0] ?? 0;
  const last = changed.at(-1) ?? 0;
  for (let size = last - first + 1; size <= before.length; size += 1) {
    for (let from = Math.max(0, last - size + 1); from <= first; from += 1) {
      if (occurrences(before, before.slice(from, from + size)) === 1) return { from, to: from + size };
    }
  }
  throw new Error("no part of the file is its own");
}

const occurrences = (lines: readonly string[], part: readonly string[]): number =>
  lines.filter((_, at) => part.every((line, offset) => lines[at + offset] === line)).length;

/** Lines of git's unified diff between two files, without the two that only git writes above it. */
async function linesOfDifference(before: string, after: string): Promise<number> {
  const argv = ["git", "diff", "--no-index", "--no-color", "--no-ext-diff", "--unified=3", "--", before, after];
  const lines = (await printed(argv, { exitCode: 1 })).trimEnd().split("\n"); // 1: they differ
  return lines.filter((line) => !/^(diff --git|index) /.test(line)).length;
}
