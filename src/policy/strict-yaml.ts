import { createRequire } from "node:module";
import type * as Yaml from "yaml";

/** Loaded with the first text: most starts meet none. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)("yaml");

/** Why a text is no settings file, and where: line and column from 1. */
export type YamlProblem = { readonly line: number; readonly column: number; readonly reason: string };

export type StrictYaml =
  | {
      readonly kind: "parsed";
      readonly value: unknown;
      /** Line of the value at a path, or of the key itself where the value has no place of its own; 1 where there is neither. */
      readonly lineOf: (path: readonly PropertyKey[]) => number;
    }
  | { readonly kind: "refused"; readonly problem: YamlProblem };

const closedTokens: Readonly<Record<string, string>> = {
  anchor: "anchors are not accepted",
  alias: "aliases are not accepted",
  tag: "tags are not accepted",
  directive: "directives are not accepted",
};

/** A settings file has some hundred; the library's search for equal keys grows with their square. */
const mostTokens = 5_000;

/** The first token of a kind that a settings file may not have, found in the syntax tree, so that nothing was resolved yet. */
function findClosedToken(tree: readonly Yaml.CST.Token[]): { offset: number; reason: string } | null {
  let tokenCount = 0;
  for (const { type, offset } of tokensOf(tree)) {
    const reason = closedTokens[type];
    if (reason !== undefined) return { offset, reason };
    tokenCount += 1;
    if (tokenCount > mostTokens) return { offset, reason: `more than ${mostTokens} tokens` };
  }
  return null;
}

/** In the order of the text, without recursion. */
function* tokensOf(tree: readonly Yaml.CST.Token[]): Generator<{ type: string; offset: number }> {
  const open: unknown[] = [...tree].reverse();
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const { type, offset = 0 } = value as Partial<Yaml.CST.SourceToken>;
    if (typeof type === "string") yield { type, offset };
    open.push(...Object.values(value).reverse());
  }
}

/** Levels of nesting; far more than a settings file has, far fewer than a parser's stack. */
const deepest = 32;

/** Counts brackets and leading dashes alone, before anything is parsed: linear, and never too low. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth = bracket === "[" || bracket === "{" ? depth + 1 : Math.max(depth - 1, 0);
    if (depth > deepest) return true;
  }
  return text.split("\n").some((line) => (/^[-?:\s]*/.exec(line)?.[0].match(/[-?:]/g)?.length ?? 0) > deepest);
}

/**
 * One YAML 1.2 document of plain values: no anchors, aliases, tags, directives, merge keys or duplicate keys (GH-130).
 * Never throws and never runs anything that stands in the text.
 */
export function parseStrictYaml(text: string): StrictYaml {
  const { LineCounter, Parser, parseDocument } = yaml();
  const lines = new LineCounter();
  const refuse = (offset: number, reason: string): StrictYaml => {
    const { line, col } = lines.linePos(offset);
    return { kind: "refused", problem: { line: Math.max(line, 1), column: Math.max(col, 1), reason } };
  };
  if (isTooDeep(text)) return refuse(0, "nested too deep");
  try {
    const closed = findClosedToken([...new Parser(lines.addNewLine).parse(text)]);
    if (closed !== null) return refuse(closed.offset, closed.reason);
    const document = parseDocument(text, parseOptions);
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) return refuse(problem.pos[0], lowerFirst(problem.message));
    return {
      kind: "parsed",
      value: document.toJS({ maxAliasCount: 0 }),
      lineOf: (path) => lineOf(document, lines, path),
    };
  } catch (error) {
    if (error instanceof RangeError) return refuse(0, "nested too deep"); // the parser's stack
    throw error;
  }
}

const parseOptions: Yaml.ParseOptions & Yaml.DocumentOptions & Yaml.SchemaOptions = {
  version: "1.2",
  schema: "core",
  merge: false,
  uniqueKeys: true,
  stringKeys: true,
  prettyErrors: false,
};

function lineOf(document: Yaml.Document, lines: Yaml.LineCounter, path: readonly PropertyKey[]): number {
  const { isMap, isNode } = yaml();
  for (let length = path.length; length > 0; length -= 1) {
    const place = path.slice(0, length);
    const parent = place.length === 1 ? document.contents : document.getIn(place.slice(0, -1), true);
    const key = isMap(parent) ? parent.items.find((item) => String(item.key) === String(place.at(-1)))?.key : undefined;
    const node = key ?? document.getIn(place, true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
