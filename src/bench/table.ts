import { type Figure, isMet } from "./figure.ts";

/** The figures of one row, one a line: name, median, spread, samples, goal. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((one) => [one.name, medianOf(one), spreadOf(one), `n=${one.samples}`, goalOf(one)]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => pad(cell, column, widths)).join("  ")}`.trimEnd())
    .map((line) => `${line}\n`)
    .join("");
}

const pad = (cell: string, column: number, widths: readonly number[]): string =>
  column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(column < 4 ? (widths[column] ?? 0) : 0);

/** Three digits that count are more than the noise leaves. */
function shown(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

const medianOf = (one: Figure): string => `${shown(one.median)} ${one.unit}`;

const spreadOf = (one: Figure): string => (one.samples === 1 ? "" : `${shown(one.min)} to ${shown(one.max)}`);

const signs = { at_most: "<=", at_least: ">=", equal: "=" } as const;

function goalOf(one: Figure): string {
  if (one.goal === null) return "";
  const goal = `${signs[one.goal.kind]} ${one.goal.value}`;
  return isMet(one) ? `${goal} met` : `${goal} MISSED`;
}
