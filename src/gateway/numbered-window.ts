import type { LineRange } from "./edit-text.ts";
import { numberedLine } from "./file-lines.ts";

/** Lines around each range, numbered, windows that touch joined, with `…` between windows apart. */
export function numberedWindows(
  lines: readonly string[],
  ranges: readonly LineRange[],
  around: number,
): readonly string[] {
  const windows: { from: number; to: number }[] = [];
  for (const range of ranges.toSorted((a, b) => a.lineFrom - b.lineFrom)) {
    const from = Math.max(1, range.lineFrom - around);
    const to = Math.min(lines.length, range.lineTo + around);
    const last = windows.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else windows.push({ from, to });
  }
  return windows.flatMap(({ from, to }, index) => [
    ...(index === 0 ? [] : ["…"]),
    ...lines.slice(from - 1, to).map((line, offset) => numberedLine(from + offset, line)),
  ]);
}

/** "51-54", or "116" for one line; several ranges joined by commas. */
export function rangesText(ranges: readonly LineRange[]): string {
  return ranges
    .toSorted((a, b) => a.lineFrom - b.lineFrom)
    .map(({ lineFrom, lineTo }) => (lineFrom === lineTo ? `${lineFrom}` : `${lineFrom}-${lineTo}`))
    .join(", ");
}
