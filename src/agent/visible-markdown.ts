import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { assertNever } from "../domain/index.ts";
import { decodeReferences } from "./character-references.ts";
import { standIn } from "./drawings.ts";
import { formulaPlaces, type Place } from "./formula-places.ts";
import type { RemovedMarkdown, Spot } from "./markdown-reading.ts";
import { markdownSpots } from "./markdown-spots.ts";
import { isTooIntricate } from "./markdown-work.ts";
import { type RemovedHtml, VisibleHtml } from "./visible-html.ts";

/** What is taken out of a text of GitHub's (SEC-12). */
export type RemovedMarkup = RemovedHtml | RemovedMarkdown;

export type ReadingOptions = {
  /** The host of the repository, such as `github.com`: links to it stay links. Null: none does. */
  readonly host: string | null;
  /** A title is shown as it was typed: its tags are text, as in `Map<string> fails`, and its dollars are dollars. */
  readonly isTitle: boolean;
  readonly count: (kind: RemovedMarkup) => void;
};

/**
 * The source with what GitHub would not show taken out: one round of SEC-12. Everything else stays as it was written, so
 * that prose and code are unchanged. Null where it is nested deeper than the parser can follow in time.
 */
export function readMarkdown(source: string, options: ReadingOptions): string | null {
  if (!mayHoldMore.test(source)) return source;
  const tree = isTooIntricate(source) ? null : parse(source);
  if (tree === null) return null;
  const spots = markdownSpots(tree, { source, ...options });
  const formulas = options.isTitle ? [] : formulaPlaces(source, spots.filter(isOpaque));
  return formulas === null ? null : visibleText(source, { spots, formulas }, options);
}

/** Within code, tags and drawings a dollar is the border of no formula; once tags are gone, the next round looks at what they held. */
const isOpaque = ({ kind }: Spot): boolean => kind !== "instead";

/** What each form that matters here begins with, or has in it: without one of these the source is plain text. */
const mayHoldMore = /[<&[\]`~|$]|:\/\/|www\./i;
/** Emphasis hides nothing, and is not looked for. */
const extensions = [gfm(), { disable: { null: ["attention", "strikethrough"] } }];
/** Without what looks for further links in plain text: its nodes have no place in the source. */
const mdastExtensions = gfmFromMarkdown().map(({ transforms: _, ...extension }) => extension);

function parse(source: string): Root | null {
  try {
    return fromMarkdown(source, { extensions, mdastExtensions });
  } catch (error) {
    if (error instanceof RangeError) return null; // the parser's stack
    throw error;
  }
}

type Found = { readonly spots: readonly Spot[]; readonly formulas: readonly Place[] };

function visibleText(source: string, { spots, formulas }: Found, options: ReadingOptions): string {
  const html = new VisibleHtml(options);
  const parts: string[] = [];
  let last = "";
  const put = (text: string | null): void => {
    const written = text ?? (/^\s?$/.test(last) ? "" : " ");
    if (written === "") return;
    parts.push(written);
    last = written.at(-1) ?? "";
  };
  const putUnlessHidden = (text: string): void => put(html.isHiding ? "" : text);
  for (const piece of inOrder(source, spots, formulas)) {
    switch (piece.kind) {
      case "plain":
        putUnlessHidden(decodeReferences(source.slice(piece.start, piece.end)));
        break;
      case "html": {
        const texts = html.read(piece.html); // also within a formula: what it opens may hide what follows
        if (!piece.isCovered) texts.forEach(put);
        break;
      }
      case "verbatim":
        putUnlessHidden(source.slice(piece.start, piece.end));
        break;
      case "instead":
        putUnlessHidden(piece.text);
        break;
      case "drawing":
        options.count(piece.what);
        putUnlessHidden(standIn(piece.what, source[piece.end]));
        break;
      default:
        assertNever(piece);
    }
  }
  return parts.join("");
}

type Piece =
  | Exclude<Spot, { readonly kind: "html" }>
  | (Extract<Spot, { readonly kind: "html" }> & { readonly isCovered: boolean })
  | (Place & { readonly kind: "plain" });

/** The whole source in pieces. A spot that begins within a formula is left out, but what it opens is still to be heard of. */
function inOrder(source: string, spots: readonly Spot[], formulas: readonly Place[]): readonly Piece[] {
  const pieces: Piece[] = [];
  const waiting = formulas.toReversed();
  let from = 0;
  const plainUpTo = (end: number): void => {
    if (end > from) pieces.push({ start: from, end, kind: "plain" });
    from = Math.max(from, end);
  };
  const formulasUpTo = (limit: number): void => {
    for (let formula = waiting.at(-1); formula !== undefined && formula.start <= limit; formula = waiting.at(-1)) {
      plainUpTo(formula.start);
      pieces.push({ ...formula, kind: "drawing", what: "formula" });
      from = Math.max(from, formula.end);
      waiting.pop();
    }
  };
  for (const spot of spots) {
    formulasUpTo(spot.start);
    const isCovered = from > spot.start;
    plainUpTo(spot.start);
    if (spot.kind === "html") pieces.push({ ...spot, isCovered });
    else if (!isCovered) pieces.push(spot);
    from = Math.max(from, spot.end);
  }
  formulasUpTo(source.length);
  plainUpTo(source.length);
  return pieces;
}
