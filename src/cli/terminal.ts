import { type Redact, type Redacted, visibleText } from "../domain/index.ts";

/** Where a command reads and prints. Nothing in `cli` touches the process itself. */
export type Terminal = {
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Writes to standard error. */
  readonly err: (text: string) => void;
  /** Takes secrets out of a text that is cut or indented before it is written: what is written is looked through once more. */
  readonly redact: Redact;
  /** Whether standard error is a terminal that can redraw a line. */
  readonly isLive: boolean;
  /** Whether standard output is a terminal: then text of others is escaped there too. */
  readonly isOutTerminal: boolean;
  /** Columns of that terminal. */
  readonly columns: number;
  /** Everything on standard input. */
  readonly readAll: () => Promise<Uint8Array>;
  /** Asks a question and answers with the line typed; null where nobody can be asked. Rejects with the signal's reason. */
  readonly ask: ((question: string, signal: AbortSignal) => Promise<string>) | null;
};

/** Text of strangers for a terminal: what is invisible is shown as an escape. */
export const plain = visibleText;

/** The same on one line: text of strangers can't begin a line of ours. */
export const inLine = (text: string): string => plain(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");

/** The same over several lines, all but the first indented: no line of it begins where ours do. */
export const indented = (text: Redacted<string>): string => plain(text).replaceAll("\n", `\n${" ".repeat(12)}`);

/** A table with columns as wide as their widest cell, two spaces apart; the last column runs free. A row is a line. */
export function table(texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(inLine));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, at) => Math.max(widest[at] ?? 0, cell.length)),
    [],
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join("");
}

/** `812 ms`, `3.4 s`, `2 min 5 s`. Never rounded up: there is no `1 min 60 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.floor(ms)} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}
