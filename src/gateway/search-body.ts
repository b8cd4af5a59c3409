import { bodyBytes, standardCaps } from "./result-text.ts";
import type { FoundFile, FoundLine } from "./search-events.ts";
import { maxMatchingLines } from "./search-tree.ts";

const shownCharacters = 300;

/** A matching line, at most 300 characters around the match, cuts marked on both sides (ACI-24). */
export function centredLine(text: string, at: number): { readonly text: string; readonly clipped: boolean } {
  if (text.length <= shownCharacters) return { text, clipped: false };
  const start = Math.max(0, Math.min(at - shownCharacters / 2, text.length - shownCharacters));
  const part = text.slice(start, start + shownCharacters);
  const left = start > 0 ? "…" : "";
  const right = start + shownCharacters < text.length ? "…" : "";
  return { text: `${left}${part}${right}`, clipped: true };
}

/** What a binary file with a match is. */
export type BinaryFile = { readonly path: string; readonly mediaType: string; readonly sizeBytes: number | null };

export type SearchBody = {
  readonly body: readonly string[];
  readonly matchingLines: number;
  readonly clippedLines: number;
};

/** Matches grouped by file in path order, as many as fit beside the notes that follow. */
export function searchBody(
  files: readonly FoundFile[],
  binaries: readonly BinaryFile[],
  notes: readonly string[],
): SearchBody {
  const lines: string[] = [];
  let usedBytes = notes.length === 0 ? 0 : bodyBytes(notes) + 1;
  let matchingLines = 0;
  let clippedLines = 0;
  for (const block of files.flatMap((file) => blocksOf(file, binaries))) {
    usedBytes += bodyBytes(block.lines) + 1;
    const isWithin =
      matchingLines + block.shownMatches <= maxMatchingLines &&
      lines.length + block.lines.length + notes.length <= standardCaps.lines &&
      usedBytes <= standardCaps.bytes;
    if (!isWithin) break;
    lines.push(...block.lines);
    matchingLines += block.matchingLines;
    clippedLines += block.clippedLines;
  }
  return { body: [...lines, ...notes], matchingLines, clippedLines };
}

/** Lines that are shown together or not at all. A binary file is one line, whatever the number of its matches. */
type Block = {
  readonly lines: readonly string[];
  readonly shownMatches: number;
  readonly matchingLines: number;
  readonly clippedLines: number;
};

function blocksOf(file: FoundFile, binaries: readonly BinaryFile[]): readonly Block[] {
  if (file.isBinary) {
    return [
      { lines: [binaryLine(file, binaries)], shownMatches: 1, matchingLines: file.matchingLines, clippedLines: 0 },
    ];
  }
  return groups(file.lines).map((group, index) => {
    const shown = group.map(toShown);
    const matches = group.filter((line) => line.isMatch).length;
    return {
      lines: [...(index === 0 ? [file.path] : []), ...shown.map((line) => line.text)],
      shownMatches: matches,
      matchingLines: matches,
      clippedLines: shown.filter((line) => line.clipped).length,
    };
  });
}

/** One group a match, with the context lines before it; those after the last match belong to it. */
function groups(lines: readonly FoundLine[]): readonly (readonly FoundLine[])[] {
  const out: FoundLine[][] = [];
  let waiting: FoundLine[] = [];
  for (const line of lines) {
    waiting.push(line);
    if (!line.isMatch) continue;
    out.push(waiting);
    waiting = [];
  }
  out.at(-1)?.push(...waiting);
  return out;
}

/** `12:` for a match, `12-` for its surroundings, as grep marks them. */
function toShown(line: FoundLine): { readonly text: string; readonly clipped: boolean } {
  const centred = centredLine(line.text, line.at);
  return { text: `${line.line}${line.isMatch ? ":" : "-"}${centred.text}`, clipped: centred.clipped };
}

function binaryLine(file: FoundFile, binaries: readonly BinaryFile[]): string {
  const about = binaries.find((binary) => binary.path === file.path);
  const size = about?.sizeBytes ?? null;
  return `${file.path} [binary: ${about?.mediaType ?? "application/octet-stream"}${size === null ? "" : `, ${size} bytes`}]`;
}
