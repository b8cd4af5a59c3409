import type { Redacted } from "../../domain/index.ts";
import { inactive } from "../../github/index.ts";

/**
 * A code span that shows text of others as it is, whatever it holds: nothing in it is acted on, by those who know code and by
 * those who don't (SEC-115). Line breaks and controls become spaces; what is not seen or turns the direction of text is shown as
 * `\u{202e}`.
 */
export const inCode = (text: Redacted<string>): string => codeSpan(inactive(onOneLine(text) as Redacted<string>));

/** The same for words of our own, such as a command, an id or a digest: each may be copied. */
export const ownInCode = (text: string): string => codeSpan(onOneLine(text));

/** The same as `inCode` for a cell of a table, where a bar would end it. */
export const inCell = (text: Redacted<string>): string => inCode(text.replaceAll("|", escaped) as Redacted<string>);

const onOneLine = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .replace(unseen, escaped)
    .trim();

/** CommonMark 0.31 section 6.1. */
function codeSpan(text: string): string {
  const line = text || " ";
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${pad}${line}${pad}${fence}`;
}

const unseen = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const escaped = (point: string): string => `\\u{${point.codePointAt(0)?.toString(16)}}`;

/** `1 file`, `2 files`. */
export const count = (number: number, noun: string): string => `${inDigits(number)} ${noun}${number === 1 ? "" : "s"}`;

/** With commas, whatever the machine's language. */
export const inDigits = (number: number): string => number.toLocaleString("en-US");

/** `0.4 s`, `12 s`, `3 min 20 s`. */
export function inSeconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The first entries as list items, and how many more there are. */
export function cappedList(items: readonly string[], most: number): readonly string[] {
  const shown = items.slice(0, most).map((item) => `- ${item}`);
  return items.length > most ? [...shown, `- and ${items.length - most} more`] : shown;
}
