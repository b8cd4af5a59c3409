import type { Nodes, Paragraph } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

const verbs = ["fix", "revise", "stop", "retry", "approve", "deny", "explain", "help"] as const;
export type CommandVerb = (typeof verbs)[number];

/** What a comment asks for (GH-2 to GH-4). `count`: how many lines of it are commands. */
export type FoundCommand =
  | { readonly kind: "none" }
  /** A line begins like a command, but the text is too long or too deep to be sure. */
  | { readonly kind: "unreadable" }
  /** Of no known verb, or with an id of another form. */
  | { readonly kind: "wrong"; readonly count: number }
  | {
      readonly kind: "command";
      readonly verb: CommandVerb;
      /** Of `approve`, `deny` and `explain`; null for the others. */
      readonly id: string | null;
      /** What stands on and after the line, as the person wrote it. */
      readonly request: string;
      readonly count: number;
    };

/** Most comments have no such line: they are not parsed at all. */
const candidate = /^\/countersign(?:[ \t]|$)/m;
const commandLine = /^(\/countersign)(?:[ \t]+([^ \t]+))?(?:[ \t]+(.*))?$/s;
const idForm = /^[A-Za-z0-9_-]{1,64}$/;
/**
 * Markdown that is made to be slow costs time with the square of its length, and anyone may comment: what is parsed ends
 * at the last blank line before this. At a blank line every paragraph, and so every span in it, has ended.
 */
const parsedCharacters = 4096;
/** So does what lies deep in quotes and lists, where every line is looked at once more for each of them. */
const deepLine = /^[ \t]*(?:(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])[ \t]*){17}/m;

/** The command of a comment: the first line that is one. Exact code points, no folding, no trimming (SEC-33). */
export function findCommand(comment: string): FoundCommand {
  if (!candidate.test(comment)) return { kind: "none" };
  const readable = readablePart(comment);
  const lines = readable === null ? null : commandLines(readable);
  const [first] = lines ?? [];
  if (first === undefined) {
    const isSure = lines !== null && readable === comment;
    return isSure || !candidate.test(comment.slice(readable?.length ?? 0)) ? { kind: "none" } : { kind: "unreadable" };
  }
  return readLine(first.text, comment.slice(first.end), lines?.length ?? 1);
}

function readablePart(comment: string): string | null {
  const head = comment.slice(0, parsedCharacters);
  const deep = head.search(deepLine);
  if (deep === -1 && head === comment) return comment;
  const within = deep === -1 ? head : head.slice(0, deep);
  const blank = within.lastIndexOf("\n\n");
  const blankCrlf = within.lastIndexOf("\r\n\r\n");
  const end = Math.max(blank, blankCrlf);
  return end === -1 ? null : comment.slice(0, end);
}

type CommandLine = { readonly text: string; readonly end: number };

function commandLines(markdown: string): readonly CommandLine[] | null {
  try {
    const tree = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
    const tags = tagsOf(tree);
    return tree.children
      .flatMap((node) => (node.type === "paragraph" ? linesOf(markdown, node) : []))
      .filter(({ end }) => !isInElement(tags, end));
  } catch {
    return null; // nested deeper than the parser's stack
  }
}

type Tag = { readonly name: string; readonly isEnd: boolean; readonly offset: number };

const tagPattern = /<(\/?)([a-z][a-z0-9-]*)[^>]*>/gi;
const voidElements = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "wbr",
]);

/** The tags of a comment in their order; those of elements that hold nothing left out. */
function tagsOf(node: Nodes): readonly Tag[] {
  if (node.type !== "html") return "children" in node ? node.children.flatMap(tagsOf) : [];
  return [...node.value.matchAll(tagPattern)].flatMap(([, slash, name = ""]) =>
    voidElements.has(name.toLowerCase())
      ? []
      : [{ name: name.toLowerCase(), isEnd: slash === "/", offset: offsets(node).start }],
  );
}

/** An element goes on over a blank line, and what stands in it (a quote, code) may be another's words. */
function isInElement(tags: readonly Tag[], offset: number): boolean {
  const open: string[] = [];
  for (const { name, isEnd } of tags.filter((tag) => tag.offset < offset)) {
    const at = isEnd ? open.lastIndexOf(name) : -1;
    if (at !== -1) open.length = at;
    else if (!isEnd) open.push(name);
  }
  return open.length > 0;
}

const linePattern = /[^\r\n]*(?:\r\n|\r|\n|$)/y;

/** Lines of a paragraph that begin, in their first column, with text that is plain: no span, link or HTML. */
function linesOf(markdown: string, paragraph: Paragraph): CommandLine[] {
  const start = lineStart(markdown, offsets(paragraph).start);
  const { end } = offsets(paragraph);
  const found: CommandLine[] = [];
  for (let at = start; at < end; ) {
    linePattern.lastIndex = at;
    const line = linePattern.exec(markdown)?.[0] ?? "";
    if (line === "") break;
    const text = line.replace(/[\r\n]+$/, "");
    if (commandLine.test(text) && isPlain(paragraph, at, at + headLength(text))) {
      found.push({ text, end: at + text.length });
    }
    at += line.length;
  }
  return found;
}

/** An indented line is none: its first column holds a space. */
function lineStart(markdown: string, offset: number): number {
  let at = offset;
  while (at > 0 && !/[\r\n]/.test(markdown[at - 1] ?? "")) at -= 1;
  return at;
}

const headLength = (text: string): number => {
  const [, word = "", verb = ""] = commandLine.exec(text) ?? [];
  return verb === "" ? word.length : text.indexOf(verb, word.length) + verb.length;
};

const offsets = (node: Nodes): { start: number; end: number } => ({
  start: node.position?.start.offset ?? 0,
  end: node.position?.end.offset ?? 0,
});

const isPlain = (paragraph: Paragraph, start: number, end: number): boolean =>
  paragraph.children.some((node) => {
    const place = offsets(node);
    return node.type === "text" && place.start <= start && place.end >= end;
  });

function readLine(line: string, following: string, count: number): FoundCommand {
  const [, , word = "", rest = ""] = commandLine.exec(line) ?? [];
  const verb = verbs.find((known) => known === word);
  if (verb === undefined) return { kind: "wrong", count };
  const request = `${rest}${following}`.trim();
  if (verb !== "approve" && verb !== "deny" && verb !== "explain") {
    return { kind: "command", verb, id: null, request, count };
  }
  const [id = ""] = rest.split(/[ \t]/);
  return idForm.test(id) ? { kind: "command", verb, id, request, count } : { kind: "wrong", count };
}
