import type { Image, ImageReference, Link, LinkReference, Nodes } from "mdast";
import type { Place } from "./formula-places.ts";
import type { Reading, Target } from "./markdown-reading.ts";

/** Whether there is anything to see of it: an image on the repository's host, or a character that is not blank. */
export function isSeen(reading: Reading, node: Nodes): boolean {
  if (node.type === "image" || node.type === "imageReference") return isInside(reading, targetOf(reading, node).url);
  if ("children" in node) return node.children.some((child) => isSeen(reading, child));
  return node.type !== "html" && "value" in node && /[^\s\u2800]/.test(node.value);
}

/** What may follow the path of an address on the host, as GitHub itself writes it. */
const knownEnd = /^#(?:L\d+(?:-L\d+)?|(?:issue|issuecomment|pullrequestreview|discussioncomment)-\d+|discussion_r\d+)$/;

/** An address that is its own text. GitHub shows a short form of its own, `#1` or a commit's first digits, without the end. */
export function shortenAddress({ source, host, count, spots }: Reading, { start, end }: Place): void {
  const address = source.slice(start, end).replace(/^<|>$/g, "");
  const from = address.search(/[?#]/);
  if (from === -1 || knownEnd.test(address.slice(from)) || !isInside({ host }, withScheme(address))) return;
  count("address_end");
  const kept = start + (source[start] === "<" ? 1 : 0) + from;
  spots.push({ start: kept, end: kept + address.length - from, kind: "instead", text: "" });
}

const withScheme = (address: string): string => (/^www\./i.test(address) ? `https://${address}` : address);

/** Where it leads; by reference, where its definition says. */
export const targetOf = ({ definitions }: Reading, node: Link | LinkReference | Image | ImageReference): Target =>
  "url" in node ? node : (definitions.get(node.identifier) ?? { url: "" });

/** As Markdown writes a target that may hold anything. */
export const inBrackets = (url: string): string => `<${url.replaceAll(/[<>\\\s]/g, encodeURIComponent)}>`;

/** Whether the target lies on the repository's host; counts what of it is not kept. */
export function countTarget(reading: Reading, { url, title }: Target): boolean {
  if (title) reading.count("link_title");
  const isKept = isInside(reading, url);
  if (!isKept) reading.count("outside_target");
  return isKept;
}

/** Whether it lies on the host, as a browser would read it on a page there: `//elsewhere` and a backslash lead away. */
function isInside({ host: own }: Pick<Reading, "host">, url: string): boolean {
  const host = own ?? "repository.invalid";
  const resolved = URL.parse(url, `https://${host}/`);
  return resolved !== null && /^https?:$/.test(resolved.protocol) && resolved.host === host;
}
