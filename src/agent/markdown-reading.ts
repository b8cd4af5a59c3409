import type { FootnoteDefinition, Nodes } from "mdast";
import type { Drawing } from "./drawings.ts";
import type { Place } from "./formula-places.ts";

/** What of Markdown, raw HTML aside, is taken out (SEC-12). */
export type RemovedMarkdown =
  | "link_title"
  | "image_text"
  | "outside_target"
  | "definition"
  | "footnote"
  | "code_info"
  | "table_cell"
  | "empty_link"
  | "address_end"
  | Drawing;

/** Places in the source where something other than plain text stands, in order; what lies between them is plain. */
export type Spot = Place &
  (
    | { readonly kind: "html"; readonly html: string }
    /** Code: stays as it is, character references included. */
    | { readonly kind: "verbatim" }
    | { readonly kind: "instead"; readonly text: string }
    | { readonly kind: "drawing"; readonly what: Drawing }
  );

/** What a tree is read with. */
export type Reading = {
  readonly source: string;
  readonly host: string | null;
  readonly count: (kind: RemovedMarkdown) => void;
  /** Targets by identifier: the first definition counts. */
  readonly definitions: ReadonlyMap<string, Target>;
  readonly footnotes: ReadonlyMap<string, Footnote>;
  readonly spots: Spot[];
};
/** A footnote that is shown: the first definition of its name counts. */
export type Footnote = { readonly number: number; readonly definition: FootnoteDefinition };
/** Where a link or an image leads. */
export type Target = { readonly url: string; readonly title?: string | null | undefined };

/** Where a node stands in the source. */
export function placeOf(node: Nodes): Place {
  const { start, end } = node.position ?? {};
  if (start?.offset === undefined || end?.offset === undefined) throw new Error(`a \`${node.type}\` has no place`);
  return { start: start.offset, end: end.offset };
}
