import { type ResultStatus, showHidden } from "../domain/index.ts";

/** What a body may hold (ACI-5). */
export type BodyCaps = { readonly lines: number; readonly bytes: number };

export const standardCaps: BodyCaps = { lines: 100, bytes: 12_288 };
/** Only an explicit `line_count` of `read_file` raises the caps. */
export const widestCaps: BodyCaps = { lines: 400, bytes: 32_768 };

/** Beyond this a line is clipped where bytes bind before lines (ACI-10). */
export const clippedCharacters = 500;

const headerCharacters = 1_000;

/**
 * The text of a result: one header line, then the body.
 * INVARIANT: the status is the first word, so that two statuses never render to one text (test/gateway/result-text.test.ts).
 */
export function resultText(status: ResultStatus, essentials: string, body: readonly string[]): string {
  const header = `${status}: ${clipLine(essentials.replace(/\s*[\r\n]+\s*/g, " "), headerCharacters).text}`;
  return body.length === 0 ? header : `${header}\n${body.join("\n")}`;
}

/** The line cut to `characters`, ending with how many are missing; a pair of surrogates is never split. */
export function clipLine(line: string, characters: number): { readonly text: string; readonly clipped: boolean } {
  if (line.length <= characters) return { text: line, clipped: false };
  const lastUnit = line.charCodeAt(characters - 1);
  const end = lastUnit >= 0xd800 && lastUnit <= 0xdbff ? characters - 1 : characters;
  return { text: `${line.slice(0, end)}… [${line.length - end} characters cut]`, clipped: true };
}

/** Bytes of the lines joined by line feeds, as they will be shown: hidden code points become longer (SEC-16). */
export function bodyBytes(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(showHidden(line).text) + 1, -1);
}

export type FittedBody = {
  readonly body: readonly string[];
  readonly shownLines: number;
  readonly omittedLines: number;
  readonly clippedLines: number;
};

/**
 * The first lines that fit, in order, for bodies that are not command output: long lines are clipped first, then lines
 * are left out at the end; `reserve` lines and their bytes stay free for a note.
 */
export function fitBody(lines: readonly string[], caps: BodyCaps, reserve: readonly string[] = []): FittedBody {
  const roomLines = caps.lines - reserve.length;
  const roomBytes = caps.bytes - (reserve.length === 0 ? 0 : bodyBytes(reserve) + 1);
  const whole = lines.slice(0, roomLines);
  if (bodyBytes(whole) <= roomBytes) {
    return { body: whole, shownLines: whole.length, omittedLines: lines.length - whole.length, clippedLines: 0 };
  }
  const body: string[] = [];
  let usedBytes = -1;
  let clippedLines = 0;
  for (const line of whole) {
    const clip = clipLine(line, clippedCharacters);
    usedBytes += bodyBytes([clip.text]) + 1;
    if (usedBytes > roomBytes) break;
    if (clip.clipped) clippedLines += 1;
    body.push(clip.text);
  }
  return { body, shownLines: body.length, omittedLines: lines.length - body.length, clippedLines };
}
