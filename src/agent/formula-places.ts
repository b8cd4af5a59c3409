/** `[start, end)` in code units. */
export type Place = { readonly start: number; readonly end: number };

const dollars = /\$+/g;
/** What matters to TeX between two dollars: an escaped character, a comment, a group; and where a paragraph ends. */
const pieces = /\\[\s\S]|%[^\n]*|[{}]|\$+|\n[ \t>]*\n/g;

/** Most characters that are read, in multiples of the text's length: a text by a person comes to one or two. */
const mostReadings = 20;
const leastCharacters = 100_000;

/**
 * Where GitHub may show a formula that says something else than its source does: text after `%` is not shown, and a command
 * such as `\phantom` hides what follows. Which dollars GitHub takes for the borders of one is not written down, so each that
 * could begin one is tried, and the longest reading counts. What is between dollars without a command and without a comment is
 * shown by GitHub in italics, so it stays: prices and shell variables are such. Dollars in `opaque` places are no borders. Null
 * where it would take more than time in proportion to the text's length.
 */
export function formulaPlaces(source: string, opaque: readonly Place[]): readonly Place[] | null {
  if (!/[\\%]/.test(source)) return [];
  const text = withoutDollars(source, opaque);
  const found: Place[] = [];
  let readable = Math.max(leastCharacters, mostReadings * text.length);
  let from = 0;
  for (const { 0: mark, index } of text.matchAll(dollars)) {
    if (index < from) continue;
    const { closing, read } = formulaAt(text, index, mark);
    readable -= read;
    if (readable < 0) return null;
    if (closing === null || !mayHide(text.slice(index + mark.length, closing.start))) continue;
    add(found, { start: index, end: closing.end });
    if (beginsSurely(text[index - 1])) from = beginsNone.test(text[closing.end] ?? "") ? closing.end : closing.start;
  }
  return found;
}

/** Of the same length. */
function withoutDollars(source: string, opaque: readonly Place[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of opaque) {
    parts.push(source.slice(from, start), source.slice(start, end).replaceAll("$", "\0"));
    from = end;
  }
  return [...parts, source.slice(from)].join("");
}

type Scan = { readonly closing: Place | null; readonly read: number };

/** Two dollars begin a formula of its own, which may hold empty lines, where two others end it. */
function formulaAt(text: string, index: number, mark: string): Scan {
  const from = index + mark.length;
  const asBlock = mark.length > 1 ? closingOf(text, from, "$$") : null;
  if (asBlock !== null && asBlock.closing !== null) return asBlock;
  const inLine = closingOf(text, from, "$");
  return { ...inLine, read: inLine.read + (asBlock?.read ?? 0) };
}

/** The first border that stands in no group and no comment and before no word; where there is none, the last dollars at all. */
function closingOf(text: string, from: number, border: "$" | "$$"): Scan {
  let depth = 0;
  let last: Place | null = null;
  pieces.lastIndex = from;
  for (let match = pieces.exec(text); match !== null; match = pieces.exec(text)) {
    const [piece] = match;
    if (piece.startsWith("\n") && border === "$") return { closing: last, read: match.index - from };
    if (piece === "{") depth += 1;
    if (piece === "}") depth -= 1;
    if (!piece.includes(border)) continue;
    const end = match.index + piece.lastIndexOf("$") + 1;
    last = { start: end - (piece.startsWith("$") ? piece.length : 1), end };
    if (piece.startsWith("$") && depth <= 0 && isBorder(text[end])) return { closing: last, read: end - from };
  }
  return { closing: last, read: text.length - from };
}

/** Before a word's character GitHub may see no border, */
const isBorder = (following = ""): boolean => !/[\p{L}\p{N}]/u.test(following);
/** and behind one, or where it is escaped: then another formula may begin within what seems to be one. */
const beginsSurely = (before = ""): boolean => !/[\p{L}\p{N}\\]/u.test(before);
/** What stands after the end of a formula, and not where one begins. */
const beginsNone = /^[\s,.;:!?)\]'"-]?$/;

/** A command hides wherever it stands; anything else only where the borders stand close to it, as no price and no sign do. */
const mayHide = (content: string): boolean =>
  /\\[a-z]/i.test(content) || (/[\\%]/.test(content) && /^\S/.test(content) && /\S$/.test(content));

function add(found: Place[], place: Place): void {
  const before = found.at(-1);
  if (before === undefined || place.start >= before.end) found.push(place);
  else found[found.length - 1] = { start: before.start, end: Math.max(before.end, place.end) };
}
