import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { decodeReferences } from "./character-references.ts";
import { markdownSpots, type RemovedMarkdown, type Spot } from "./markdown-spots.ts";
import { isTooIntricate } from "./markdown-work.ts";
import { type RemovedHtml, VisibleHtml } from "./visible-html.ts";

/** What is taken out of a text of GitHub's (SEC-12). */
export type RemovedMarkup = RemovedHtml | RemovedMarkdown;

export type ReadingOptions = {
  /** The host of the repository, such as `github.com`: links to it stay links. Null: none does. */
  readonly host: string | null;
  readonly keepsTags: boolean;
  readonly count: (kind: RemovedMarkup) => void;
};

/**
 * The source with what GitHub would not show taken out: one round of SEC-12. Everything else stays as it was written, so
 * that prose and code are unchanged. Null where it is nested deeper than the parser can follow in time.
 */
export function readMarkdown(source: string, options: ReadingOptions): string | null {
  if (!mayHoldMore.test(source)) return source;
  const tree = isTooIntricate(source) ? null : parse(source);
  return tree === null ? null : visibleText(source, markdownSpots(tree, { source, ...options }), options);
}

/** What each form that matters here begins with, or has in it: without one of these the source is plain text. */
const mayHoldMore = /[<&[\]`~|]/;
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

function visibleText(source: string, spots: readonly Spot[], options: ReadingOptions): string {
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
  let from = 0;
  for (const spot of spots) {
    putUnlessHidden(decodeReferences(source.slice(from, spot.start)));
    if (spot.kind === "html") html.read(spot.html).forEach(put);
    else putUnlessHidden(spot.kind === "instead" ? spot.text : source.slice(spot.start, spot.end));
    from = spot.end;
  }
  putUnlessHidden(decodeReferences(source.slice(from)));
  return parts.join("");
}
