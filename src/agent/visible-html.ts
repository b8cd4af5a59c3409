import { assertNever } from "../domain/index.ts";
import { decodeReferences } from "./character-references.ts";
import { type HtmlPiece, htmlPieces, isEmptyElement, isRawText, rawTextEnd } from "./html-pieces.ts";

/** What of HTML is taken out (SEC-12). */
export type RemovedHtml = "html_comment" | "html_tag" | "hidden_element" | "script" | "style";

export type HtmlOptions = {
  /** A title's tags are shown as they were typed: then only comments go. */
  readonly isTitle: boolean;
  readonly count: (kind: RemovedHtml) => void;
};

/** An element that hides its content, until its end tag; `depth` counts elements of its name within it. */
type Hider = { readonly name: string; readonly depth: number };

/** Tags within a line's text: where they stand, two words may be one. */
const inline = new Set(
  "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var wbr".split(
    " ",
  ),
);

type Tag = Extract<HtmlPiece, { readonly name: string }>;

/** What hides its content after a piece that stands within it; null once it is closed. */
function within({ name, depth }: Hider, piece: HtmlPiece): Hider | null {
  if (!("name" in piece) || piece.name !== name || (piece.kind === "open" && isRawText(name))) return { name, depth };
  const left = piece.kind === "close" ? depth - 1 : depth + 1;
  return left === 0 ? null : { name, depth: left };
}

const kindOf = ({ kind, name, isHidden }: Tag): RemovedHtml => {
  if (kind === "open" && (name === "script" || name === "style")) return name;
  return kind === "open" && isHidden ? "hidden_element" : "html_tag";
};

/**
 * Reads the raw HTML of a document piece by piece, in the order in which it stands: an element opened in one piece may be
 * closed in a later one, and hides whatever Markdown is between.
 */
export class VisibleHtml {
  readonly #options: HtmlOptions;
  #hider: Hider | null = null;
  /** Markdown ends a block where HTML goes on: what was left open there takes all that follows on the rendered page. */
  #isLeftOpen = false;

  constructor(options: HtmlOptions) {
    this.#options = options;
  }

  /** Whether what stands here is within an element that hides its content. */
  get isHiding(): boolean {
    return this.#hider !== null || this.#isLeftOpen;
  }

  /** The visible texts of a piece of raw HTML; null where a tag parted words. */
  read(html: string): readonly (string | null)[] {
    if (this.#isLeftOpen) return [];
    // Left open by an earlier piece, raw text ends at its end tag alone, also within what looks like a comment.
    const from = this.#hider !== null && isRawText(this.#hider.name) ? rawTextEnd(html, 0, this.#hider.name) : 0;
    return htmlPieces(html.slice(from)).map((piece) => {
      const text = this.#visible(piece);
      this.#isLeftOpen ||= piece.kind !== "text" && piece.isLeftOpen;
      return text;
    });
  }

  #visible(piece: HtmlPiece): string | null {
    if (this.#hider !== null) {
      this.#hider = within(this.#hider, piece);
      return "";
    }
    switch (piece.kind) {
      case "text":
        return decodeReferences(piece.raw);
      case "comment":
        this.#options.count("html_comment");
        return "";
      case "open":
      case "close":
        return this.#options.isTitle ? piece.raw : this.#tag(piece);
      default:
        return assertNever(piece);
    }
  }

  #tag(tag: Tag): string | null {
    this.#options.count(kindOf(tag));
    if (tag.kind === "open" && tag.isHidden && !isEmptyElement(tag.name)) this.#hider = { name: tag.name, depth: 1 };
    return inline.has(tag.name) ? "" : null;
  }
}
