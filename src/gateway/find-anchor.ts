/**
 * Exact search with one equivalence: a line feed in the anchor matches the text's line ending (ACI-33). A CRLF in the
 * anchor matches a CRLF alone. Nothing is trimmed, folded or scored.
 */
export type TextIndex = {
  readonly text: string;
  /** The text with each CRLF as one LF. */
  readonly folded: string;
  /** Offsets in `folded` of those LFs that stand for a CRLF, ascending. */
  readonly pairs: readonly number[];
  readonly lineEnding: "\n" | "\r\n";
};

/** A place in the original text, `end` exclusive. */
export type Place = { readonly start: number; readonly end: number };

export function indexText(text: string): TextIndex {
  const pairs: number[] = [];
  for (let at = text.indexOf("\r\n"); at !== -1; at = text.indexOf("\r\n", at + 2)) pairs.push(at - pairs.length);
  const folded = pairs.length === 0 ? text : text.replaceAll("\r\n", "\n");
  const lineFeeds = countLineFeeds(folded);
  return { text, folded, pairs, lineEnding: pairs.length * 2 > lineFeeds ? "\r\n" : "\n" };
}

function countLineFeeds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** All places where the anchor occurs, counted with overlap (ACI-34). */
export function findPlaces(index: TextIndex, anchor: string): readonly Place[] {
  const wanted = indexText(anchor);
  const places: Place[] = [];
  for (let at = index.folded.indexOf(wanted.folded); at !== -1; at = index.folded.indexOf(wanted.folded, at + 1)) {
    const isCrLfKept = wanted.pairs.every((pair) => isPair(index, at + pair));
    if (isCrLfKept) places.push({ start: toOriginal(index, at), end: toOriginal(index, at + wanted.folded.length) });
  }
  return places;
}

/** How many pairs stand before an offset of the folded text. */
function pairsBefore(index: TextIndex, at: number): number {
  let low = 0;
  let high = index.pairs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((index.pairs[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

const toOriginal = (index: TextIndex, at: number): number => at + pairsBefore(index, at);
const isPair = (index: TextIndex, at: number): boolean => index.pairs[pairsBefore(index, at)] === at;

/** Line number, from 1, of an offset of the original text. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** A line feed in the replacement takes the ending of the lines it replaces, or else the file's (ACI-36). */
export function withLineEnding(replacement: string, replaced: string, fileEnding: "\n" | "\r\n"): string {
  const lineFeeds = countLineFeeds(replaced);
  const pairs = replaced.split("\r\n").length - 1;
  const isUniform = lineFeeds > 0 && (pairs === 0 || pairs === lineFeeds);
  const replacedEnding = pairs === 0 ? "\n" : "\r\n";
  const ending = isUniform ? replacedEnding : fileEnding;
  return ending === "\n" ? replacement : replacement.replace(/\r?\n/g, () => "\r\n");
}
