import { linesOf } from "./changed-text.ts";

/**
 * What a reader does not see, or sees elsewhere (SEC-99): Unicode's format characters (bidirectional controls, zero-width and
 * tag characters among them), its default ignorable ones, its own ends of lines, which only some programs take for one, a carriage
 * return alone for the same reason, and controls but tab, form feed and the ends of lines.
 */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|[^\P{Cc}\t\n\f]/gu;
/** Persian and emoji need them: zero width non-joiner and joiner, and the variation selector for emoji. */
const joiners = ["\u200C", "\u200D", "\uFE0F"];

/** Whether a path has such a character. None is permitted in a name. */
export const hasInvisible = (path: string): boolean => path.search(invisible) !== -1;

/**
 * The first added line, from 1, with an invisible character; null for none. `permitsJoiners`: an operator lets joiners into
 * this path; those that the base has are accepted anyway.
 */
export function lineWithInvisible(text: string, base: string | null, permitsJoiners: boolean): number | null {
  const known = new Set(base === null ? [] : linesOf(base));
  const permitted = new Set(joiners.filter((joiner) => permitsJoiners || base?.includes(joiner)));
  const lines = linesOf(text);
  const at = lines.findIndex((line, index) => {
    if (known.has(line)) return false;
    const [first, ...others] = line.matchAll(invisible);
    if (first === undefined) return false;
    // A mark of the byte order is no character of the text.
    const seen = index === 0 && first.index === 0 && first[0] === "\uFEFF" ? others : [first, ...others];
    return seen.some(([character]) => !permitted.has(character));
  });
  return at === -1 ? null : at + 1;
}
