/** What ripgrep said about a pattern or a glob that it can't compile. */
export type PatternError = { readonly kind: "pattern" | "glob"; readonly message: string };

/** ripgrep wraps a pattern as `(?:…)` and marks the place by a caret below it. */
const wrapper = "(?:";

/** Null where the messages are about something else. `position` counts from 1 in the pattern as sent. */
export function patternError(messages: string, pattern: string): PatternError | null {
  const glob = /error parsing glob '.*?': (.*)/s.exec(messages);
  if (glob?.[1] !== undefined) return { kind: "glob", message: glob[1].split("\n")[0] ?? "" };
  const at = messages.indexOf("regex parse error");
  if (at === -1) return plainError(messages);
  const lines = messages.slice(at).split("\n");
  const echoed = lines.find((line) => line.trimStart() !== line && line.includes(pattern.split("\n")[0] ?? pattern));
  const caret = lines.find((line) => /^\s*\^+\s*$/.test(line));
  const error = lines.find((line) => line.startsWith("error: ")) ?? "error: not a valid pattern";
  const indent = (echoed ?? "").length - (echoed ?? "").trimStart().length;
  const shift = (echoed ?? "").trimStart().startsWith(wrapper + pattern) ? wrapper.length : 0;
  const place = caret === undefined ? null : Math.max(1, caret.indexOf("^") - indent - shift + 1);
  return { kind: "pattern", message: `${error}${place === null ? "" : ` at position ${place}`}` };
}

/** Errors of the engine that have no place, such as a size limit or a literal line feed. */
function plainError(messages: string): PatternError | null {
  const line = messages
    .split("\n")
    .find((candidate) => /^rg: (?:the literal|compiled regex|error parsing regex)/.test(candidate));
  return line === undefined ? null : { kind: "pattern", message: line.replace(/^rg: /, "error: ") };
}

/** Every character with a meaning taken literally. */
export const escapePattern = (pattern: string): string =>
  pattern.replace(/[\\^$.*+?()[\]{}|#&~-]/g, (mark) => `\\${mark}`);
/** The same for globs, in which a class of one is the literal. */
export const escapeGlob = (glob: string): string =>
  glob.replace(/[[\]{}!]/g, (mark) => (mark === "!" ? "\\!" : `[${mark}]`));
