import { decodedLines } from "./clean-output.ts";
import { type BodyCaps, bodyBytes, clipLine, clippedCharacters, standardCaps } from "./result-text.ts";

type Line = {
  readonly number: number;
  readonly text: string;
  /** Characters of the whole line; more than `text` has where the line is long. */
  readonly length: number;
  readonly clipped: boolean;
};

/** What one pass over cleaned output found: all that a body can be built from, whatever the output's size. */
export type OutputSurvey = {
  readonly totalLines: number;
  readonly totalBytes: number;
  readonly head: readonly Line[];
  readonly tail: readonly Line[];
  readonly errors: readonly Line[];
  readonly errorsCount: number;
};

/** A body within the caps, with the counts that the record and the note give. */
export type ShapedOutput = {
  readonly body: readonly string[];
  readonly totalLines: number;
  readonly shownLines: number;
  readonly omittedLines: number;
  readonly totalBytes: number;
  readonly errorsCount: number;
  readonly errorsShownCount: number;
  readonly clippedLines: number;
  /** First line left out after the head; null where none is. */
  readonly nextLine: number | null;
};

const { lines: maxLines, bytes: maxBytes } = standardCaps;

/** Reads cleaned output once, holding a few hundred lines at most (ACI-57). */
export function surveyOutput(cleaned: Uint8Array, isError: (line: string) => boolean): OutputSurvey {
  const head: Line[] = [];
  const ring: Line[] = [];
  const errors: Line[] = [];
  let errorsCount = 0;
  let number = 0;
  for (const text of decodedLines(cleaned)) {
    number += 1;
    const line = toLine(number, text);
    if (head.length < maxLines) head.push(line);
    ring[(number - 1) % maxLines] = line;
    if (text.length < 2 || !isError(line.text)) continue;
    errorsCount += 1;
    if (errors.length < maxLines / 2) errors.push(line);
  }
  const first = number > maxLines ? number % maxLines : 0;
  const tail = [...ring.slice(first), ...ring.slice(0, first)];
  return { totalLines: number, totalBytes: cleaned.length, head, tail, errors, errorsCount };
}

/** Whether everything can be shown as it is (ACI-6). */
export function fitsWhole(survey: OutputSurvey, caps: BodyCaps = standardCaps): boolean {
  const isShort = survey.totalLines <= caps.lines && survey.head.every(isWhole);
  return isShort && bodyBytes(survey.head.map((line) => line.text)) <= caps.bytes;
}

/** A line longer than the whole body is kept by its start alone: it can only be shown clipped. */
function toLine(number: number, text: string): Line {
  const kept = text.length > maxBytes ? text.slice(0, maxBytes) : text;
  return { number, text: kept, length: text.length, clipped: false };
}

const isWhole = (line: Line): boolean => line.length === line.text.length;

function clip(line: Line): Line {
  if (line.length <= clippedCharacters) return line;
  const cut = clipLine(line.text.slice(0, clippedCharacters + 1), clippedCharacters).text.replace(/… \[.*$/s, "");
  return { ...line, text: `${cut}… [${line.length - cut.length} characters cut]`, clipped: true };
}

/**
 * Errors first, then head, note and tail; `page` is the name under which the whole output is kept (ACI-6, ACI-7, ACI-10).
 * Smaller caps than the standard ones leave room for what the caller puts before the body.
 */
export function shapeOutput(survey: OutputSurvey, page: string | null, caps: BodyCaps = standardCaps): ShapedOutput {
  if (fitsWhole(survey, caps)) return inOrder(survey, survey.head, []);
  if (survey.totalLines < caps.lines) {
    const clipped = survey.head.map(clip);
    const noted = inOrder(survey, clipped, [noteOf(survey, inOrder(survey, clipped, []), page)]);
    if (bodyBytes(noted.body) <= caps.bytes) return noted;
  }
  const source = { survey, page, caps };
  return cutWhole(source) ?? cutClipped(source);
}

function inOrder(survey: OutputSurvey, lines: readonly Line[], note: readonly string[]): ShapedOutput {
  return {
    body: [...lines.map((line) => line.text), ...note],
    totalLines: survey.totalLines,
    shownLines: lines.length,
    omittedLines: survey.totalLines - lines.length,
    totalBytes: survey.totalBytes,
    errorsCount: survey.errorsCount,
    errorsShownCount: survey.errorsCount,
    clippedLines: lines.filter((line) => line.clipped).length,
    nextLine: null,
  };
}

type Source = { readonly survey: OutputSurvey; readonly page: string | null; readonly caps: BodyCaps };
type Counts = { readonly headCount: number; readonly tailCount: number };

/** Lines as they are; null where bytes bind before lines. */
function cutWhole({ survey, page, caps }: Source): ShapedOutput | null {
  const errors = survey.errors.slice(0, Math.floor(caps.lines / 2));
  if (bodyBytes(errors.map((line) => line.text)) > caps.bytes / 2) return null;
  const shaped = compose(survey, page, errors, roomFor(errors, caps));
  return bodyBytes(shaped.body) <= caps.bytes ? shaped : null;
}

/** Lines clipped first, then head and tail shrunk evenly; the note is never dropped (ACI-10). */
function cutClipped({ survey, page, caps }: Source): ShapedOutput {
  const clipped = {
    ...survey,
    head: survey.head.map(clip),
    tail: survey.tail.map(clip),
    errors: survey.errors.map(clip),
  };
  let errors = clipped.errors.slice(0, Math.floor(caps.lines / 2));
  while (bodyBytes(errors.map((line) => line.text)) > caps.bytes / 2) errors = errors.slice(0, -1);
  let { headCount, tailCount } = roomFor(errors, caps);
  let shaped = compose(clipped, page, errors, { headCount, tailCount });
  while (bodyBytes(shaped.body) > caps.bytes && headCount + tailCount > 0) {
    if (headCount >= tailCount) headCount -= 1;
    else tailCount -= 1;
    shaped = compose(clipped, page, errors, { headCount, tailCount });
  }
  return shaped;
}

function roomFor(errors: readonly Line[], caps: BodyCaps): Counts {
  const room = caps.lines - errors.length - 1;
  return { headCount: Math.floor(room / 2), tailCount: Math.ceil(room / 2) };
}

function compose(
  survey: OutputSurvey,
  page: string | null,
  errors: readonly Line[],
  { headCount, tailCount }: Counts,
): ShapedOutput {
  const isNew = (line: Line): boolean => !errors.some((error) => error.number === line.number);
  const head = survey.head.slice(0, headCount).filter(isNew);
  // A tail may reach back into the head where the output is short; no line is shown twice.
  const tail = (tailCount === 0 ? [] : survey.tail.slice(-tailCount)).filter(
    (line) => isNew(line) && line.number > headCount,
  );
  const all = inOrder(survey, [...errors, ...head, ...tail], []);
  const shaped = {
    ...all,
    errorsShownCount: errors.length,
    nextLine: all.omittedLines > 0 ? Math.min(headCount, survey.totalLines) + 1 : null,
  };
  const text = (line: Line): string => line.text;
  return { ...shaped, body: [...errors.map(text), ...head.map(text), noteOf(survey, shaped, page), ...tail.map(text)] };
}

/** Says what is missing and how to get it (ACI-7). */
function noteOf(survey: OutputSurvey, shaped: ShapedOutput, page: string | null): string {
  const where = survey.errors.slice(0, 5).map((line) => line.number);
  const parts = [
    `${shaped.omittedLines} lines omitted`,
    ...(shaped.clippedLines > 0 ? [`${shaped.clippedLines} long lines clipped`] : []),
    `errors: ${shaped.errorsShownCount} of ${shaped.errorsCount} shown${where.length > 0 ? ` (first at lines ${where.join(", ")})` : ""}`,
  ];
  if (page === null) return `[${parts.join("; ")}]`;
  const next = JSON.stringify({ path: page, line_from: shaped.nextLine ?? 1, line_count: maxLines });
  const search = JSON.stringify({ pattern: "error|fail", path: page, include: null, context_lines: 2 });
  return `[${parts.join("; ")}; next lines: read_file ${next}; search: search_text ${search}]`;
}
