import { decodeReferences } from "./character-references.ts";
import { drawingOf } from "./drawings.ts";

/** A part of raw HTML, in the order in which it stands. */
export type HtmlPiece =
  | { readonly kind: "text"; readonly raw: string }
  | { readonly kind: "comment"; readonly raw: string; readonly isLeftOpen: boolean }
  | {
      readonly kind: "open" | "close";
      readonly raw: string;
      /** In lower case. */
      readonly name: string;
      /** Never shown by a browser, whatever it contains. */
      readonly isHidden: boolean;
      /** Its end is not there: a browser takes what follows, whatever stands between, for a part of it. */
      readonly isLeftOpen: boolean;
    };

/** Their content is text to the HTML parser, up to their own end tag; none of it is ever shown. */
const rawText = new Set(["script", "style", "noscript", "noembed", "noframes", "iframe", "title"]);
/** Their content is shown by no browser, or drawn, or stands in for what a browser shows instead. */
const unseen = new Set("template head dialog datalist rp svg math audio video canvas object meter progress".split(" "));
const empty = new Set(
  "area base br col embed hr img input link meta param source track wbr".split(" "), // HTML: void elements
);

export const isRawText = (name: string): boolean => rawText.has(name);
/** An element without content: it can hide nothing but itself. */
export const isEmptyElement = (name: string): boolean => empty.has(name);

/**
 * Cuts raw HTML as a browser does: comments and declarations, tags with quoted attributes, text. What is opened and not
 * closed (a comment, a tag) takes the rest. One pass, so that hostile input costs no more than its length.
 */
export function htmlPieces(html: string): readonly HtmlPiece[] {
  const pieces: HtmlPiece[] = [];
  let textFrom = 0;
  for (let at = html.indexOf("<"); at !== -1; ) {
    const piece = pieceAt(html, at);
    if (piece === null) {
      at = html.indexOf("<", at + 1);
      continue;
    }
    if (at > textFrom) pieces.push({ kind: "text", raw: html.slice(textFrom, at) });
    pieces.push(piece);
    textFrom = at + piece.raw.length;
    if (piece.kind === "open" && rawText.has(piece.name)) textFrom = takeRawText(html, textFrom, piece.name, pieces);
    at = html.indexOf("<", textFrom);
  }
  if (textFrom < html.length) pieces.push({ kind: "text", raw: html.slice(textFrom) });
  return pieces;
}

/** What a tag's element holds is text up to its end tag: within it no other tag begins. */
function takeRawText(html: string, from: number, name: string, pieces: HtmlPiece[]): number {
  const end = rawTextEnd(html, from, name);
  if (end > from) pieces.push({ kind: "text", raw: html.slice(from, end) });
  return end;
}

/** Where the end tag of an element of raw text begins; the end of the text where there is none. */
export function rawTextEnd(html: string, from: number, name: string): number {
  const endTag = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  endTag.lastIndex = from;
  return endTag.exec(html)?.index ?? html.length;
}

function pieceAt(html: string, at: number): HtmlPiece | null {
  if (html.startsWith("<!--", at)) return comment(html, at, commentEnd(html, at));
  if (html.startsWith("<![CDATA[", at)) return comment(html, at, endOf(html, at, "]]>"));
  if (html.startsWith("<?", at)) return comment(html, at, endOf(html, at, "?>"));
  if (html.startsWith("<!", at)) return comment(html, at, endOf(html, at, ">"));
  return tagAt(html, at);
}

const comment = (html: string, at: number, end: number | null): HtmlPiece => ({
  kind: "comment",
  raw: html.slice(at, end ?? html.length),
  isLeftOpen: end === null,
});

function endOf(html: string, at: number, mark: string): number | null {
  const end = html.indexOf(mark, at);
  return end === -1 ? null : end + mark.length;
}

/** HTML section 13.2.5.43: `<!-->` and `<!--->` are whole, and `--!>` ends one too. Null: it has no end. */
function commentEnd(html: string, at: number): number | null {
  const first = /-?>/y;
  first.lastIndex = at + 4;
  if (first.test(html)) return first.lastIndex;
  const end = /--!?>/g;
  end.lastIndex = at + 4;
  return end.test(html) ? end.lastIndex : null;
}

const tagStart = /<(\/?)([a-z][^\s/>]*)/iy;
const attribute = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>"'][^\s>]*)))?/y;
const tagEnd = /[^>]*(?:>|$)/y;

function tagAt(html: string, at: number): HtmlPiece | null {
  tagStart.lastIndex = at;
  const [, slash = "", name = ""] = tagStart.exec(html) ?? [];
  if (name === "") return null;
  let end = tagStart.lastIndex;
  let hides = false;
  let isQuoteOpen = false;
  for (;;) {
    attribute.lastIndex = end;
    const match = attribute.exec(html);
    if (match === null) break;
    const [, key = "", double, single, bare] = match;
    hides ||= isHiding(key.toLowerCase(), double ?? single ?? bare ?? "");
    end = attribute.lastIndex;
    isQuoteOpen = (double !== undefined && html[end - 1] !== '"') || (single !== undefined && html[end - 1] !== "'");
    isQuoteOpen ||= match[0].endsWith('="') || match[0].endsWith("='");
  }
  tagEnd.lastIndex = end;
  tagEnd.exec(html);
  const raw = html.slice(at, tagEnd.lastIndex);
  const lower = name.toLowerCase();
  const isHidden = hides || rawText.has(lower) || unseen.has(lower);
  const isLeftOpen = isQuoteOpen || !raw.endsWith(">");
  return { kind: slash === "" ? "open" : "close", raw, name: lower, isHidden, isLeftOpen };
}

const hidingStyles =
  /display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|(?:font-size|opacity|(?:max-)?(?:width|height)):0(?![.\d]*[1-9])|text-indent:-|(?:left|right|top|bottom):-|clip(?:-path)?:|color:transparent|scale\(0/;

/**
 * The attribute `hidden` in any form, a language that GitHub draws, and styles that leave nothing to see. With an escape or a
 * comment one could say anything.
 */
function isHiding(name: string, value: string): boolean {
  if (name === "hidden") return true;
  if (name === "lang") return drawingOf(decodeReferences(value)) !== null;
  if (name !== "style") return false;
  const style = decodeReferences(value).replaceAll(/\s/g, "").toLowerCase();
  return style.includes("\\") || style.includes("/*") || hidingStyles.test(style);
}
