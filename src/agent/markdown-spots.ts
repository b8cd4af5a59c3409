import type {
  Code,
  FootnoteDefinition,
  FootnoteReference,
  Image,
  ImageReference,
  Link,
  LinkReference,
  Nodes,
  Root,
  Table,
} from "mdast";
import { drawingOf } from "./drawings.ts";
import { countTarget, inBrackets, isSeen, shortenAddress, targetOf } from "./link-targets.ts";
import { type Footnote, placeOf, type Reading, type Spot, type Target } from "./markdown-reading.ts";

/** All places of a tree that are not plain text. `host` is the repository's: targets elsewhere are taken out. */
export function markdownSpots(
  tree: Root,
  { source, host, count }: Pick<Reading, "source" | "host" | "count">,
): readonly Spot[] {
  const spots: Spot[] = [];
  const definitions = new Map<string, Target>();
  eachNode(tree, (node) => {
    if (node.type === "definition" && !definitions.has(node.identifier)) definitions.set(node.identifier, node);
  });
  visit({ source, host, count, definitions, footnotes: shownFootnotes(tree), spots }, tree);
  return spots;
}

/** By a stack of its own: trees are as deep as a stranger wants. */
function eachNode(root: Nodes, look: (node: Nodes) => void, isEntered: (node: Nodes) => boolean = () => true): void {
  const waiting: Nodes[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    look(node);
    if (!("children" in node) || !isEntered(node)) continue;
    for (const child of node.children.toReversed()) waiting.push(child);
  }
}

const isNoFootnote = (node: Nodes): boolean => node.type !== "footnoteDefinition";

/** A footnote is shown where the text refers to it, or one that is shown does. Numbers as GitHub gives them: by first use. */
function shownFootnotes(tree: Root): ReadonlyMap<string, Footnote> {
  const notes = new Map<string, FootnoteDefinition>();
  eachNode(tree, (node) => {
    if (node.type === "footnoteDefinition" && !notes.has(node.identifier)) notes.set(node.identifier, node);
  });
  const shown = new Map<string, Footnote>();
  const refer = (node: Nodes): void => {
    if (node.type !== "footnoteReference" || shown.has(node.identifier)) return;
    const definition = notes.get(node.identifier);
    if (definition !== undefined) shown.set(node.identifier, { number: shown.size + 1, definition });
  };
  eachNode(tree, refer, isNoFootnote);
  for (const { definition } of shown.values()) {
    for (const child of definition.children) eachNode(child, refer, isNoFootnote);
  }
  return shown;
}

function visit(reading: Reading, node: Nodes): void {
  switch (node.type) {
    case "html":
      reading.spots.push({ ...placeOf(node), kind: "html", html: node.value });
      return;
    case "inlineCode":
      reading.spots.push({ ...placeOf(node), kind: "verbatim" });
      return;
    case "code":
      visitCode(reading, node);
      return;
    case "definition":
      reading.count("definition");
      reading.spots.push({ ...placeOf(node), kind: "instead", text: "" });
      return;
    case "image":
    case "imageReference":
      visitImage(reading, node);
      return;
    case "link":
    case "linkReference":
      visitLink(reading, node);
      return;
    case "footnoteDefinition":
      visitFootnote(reading, node);
      return;
    case "footnoteReference":
      reading.spots.push({ ...placeOf(node), kind: "instead", text: `[^${numberOf(reading, node)}]` });
      return;
    case "table":
      visitTable(reading, node);
      return;
    default:
      visitAll(reading, "children" in node ? node.children : []);
  }
}

function visitAll(reading: Reading, nodes: readonly Nodes[]): void {
  for (const node of nodes) visit(reading, node);
}

const language = /^[a-z0-9+#._-]{1,20}$/i;
const fenceLine = /(?:`{3,}|~{3,})[^\n]*/y;

/** Of a fence's info string GitHub shows nothing: only the name of a language stays. Some languages are drawn. */
function visitCode({ source, count, spots }: Reading, node: Code): void {
  const place = placeOf(node);
  const drawing = drawingOf(node.lang ?? "");
  if (drawing !== null) {
    spots.push({ ...place, kind: "drawing", what: drawing });
    return;
  }
  fenceLine.lastIndex = place.start;
  const line = fenceLine.exec(source)?.[0] ?? "";
  const fence = /^(?:`+|~+)/.exec(line)?.[0] ?? "";
  const info = line.slice(fence.length);
  const name = node.lang != null && language.test(node.lang) ? node.lang : "";
  if (info.trim() === name) {
    spots.push({ ...place, kind: "verbatim" });
    return;
  }
  count("code_info");
  const infoFrom = place.start + fence.length;
  spots.push(
    { start: place.start, end: infoFrom, kind: "verbatim" },
    { start: infoFrom, end: place.start + line.length, kind: "instead", text: name },
    { start: place.start + line.length, end: place.end, kind: "verbatim" },
  );
}

function visitImage(reading: Reading, node: Image | ImageReference): void {
  const target = targetOf(reading, node);
  const isKept = countTarget(reading, target);
  if (node.alt) reading.count("image_text");
  if (isKept && node.type === "image" && !node.alt && !target.title) return;
  reading.spots.push({ ...placeOf(node), kind: "instead", text: isKept ? `![](${inBrackets(target.url)})` : "" });
}

function visitLink(reading: Reading, node: Link | LinkReference): void {
  const place = placeOf(node);
  if (reading.source[place.start] !== "[") {
    shortenAddress(reading, place);
    return;
  }
  const target = targetOf(reading, node);
  if (!node.children.some((child) => isSeen(reading, child))) {
    reading.count("empty_link");
    reading.spots.push({ ...place, kind: "instead", text: "" });
    return;
  }
  const isKept = countTarget(reading, target);
  if (isKept && node.type === "link" && !target.title) {
    visitAll(reading, node.children);
    return;
  }
  const first = node.children[0];
  const last = node.children.at(-1);
  const textFrom = first === undefined ? place.end : placeOf(first).start;
  const textTo = last === undefined ? place.end : placeOf(last).end;
  reading.spots.push({ start: place.start, end: textFrom, kind: "instead", text: isKept ? "[" : "" });
  visitAll(reading, node.children);
  const closing = isKept ? `](${inBrackets(target.url)})` : "";
  reading.spots.push({ start: textTo, end: place.end, kind: "instead", text: closing });
}

const numberOf = ({ footnotes }: Reading, { identifier }: FootnoteDefinition | FootnoteReference): number | null =>
  footnotes.get(identifier)?.number ?? null;

const footnoteLabel = /\[\^(?:\\.|[^\]\\])*\]:/sy;

/** GitHub shows a number for a label, and nothing of a footnote that nothing refers to. */
function visitFootnote(reading: Reading, node: FootnoteDefinition): void {
  const place = placeOf(node);
  const isShown = reading.footnotes.get(node.identifier)?.definition === node;
  footnoteLabel.lastIndex = place.start;
  const label = footnoteLabel.exec(reading.source)?.[0];
  const own = `[^${numberOf(reading, node)}]:`;
  if (!isShown || label !== own) reading.count("footnote");
  if (!isShown || label === undefined) {
    reading.spots.push({ ...place, kind: "instead", text: "" });
    return;
  }
  reading.spots.push({ start: place.start, end: place.start + label.length, kind: "instead", text: own });
  visitAll(reading, node.children);
}

/** Cells beyond the columns of the head are not shown (GitHub Flavored Markdown, section 4.10). */
function visitTable(reading: Reading, table: Table): void {
  const columns = table.children[0]?.children.length ?? 0;
  for (const row of table.children) {
    visitAll(reading, row.children.slice(0, columns));
    const [first, ...others] = row.children.slice(columns);
    if (first === undefined) continue;
    for (const _ of [first, ...others]) reading.count("table_cell");
    const { end } = placeOf(others.at(-1) ?? first);
    reading.spots.push({ start: placeOf(first).start, end, kind: "instead", text: "" });
  }
}
