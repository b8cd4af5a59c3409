import type { JsonValue } from "./json.ts";

/** What a hidden code point is, for counting (SEC-15). */
export type HiddenKind =
  | "control"
  | "bidi_mark"
  | "zero_width"
  | "tag_character"
  | "variation_selector"
  | "filler"
  | "private_use"
  | "lone_surrogate"
  | "format_character";

/** How many of each kind; a kind that did not occur is left out. */
export type HiddenCounts = Readonly<Partial<Record<HiddenKind, number>>>;

/**
 * SEC-13: the categories Cf, Co and Cs, all that Unicode says is not to be shown (its property holds the blocks and single
 * code points that SEC-13 lists besides), and every C0 and C1 control but tab and line feed.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is looked for
  /[\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;

const kinds: readonly (readonly [HiddenKind, RegExp])[] = [
  ["control", /\p{Cc}/u],
  ["lone_surrogate", /\p{Cs}/u],
  ["private_use", /\p{Co}/u],
  ["bidi_mark", /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u],
  ["variation_selector", /\p{Variation_Selector}/u],
  ["tag_character", /[\u{e0000}-\u{e0fff}]/u],
  ["zero_width", /[\u034f\u200b-\u200d\u2060-\u2064\ufeff]/u],
  ["filler", /[\u115f\u1160\u3164\uffa0]/u],
];

const kindOf = (point: string): HiddenKind => kinds.find(([, holds]) => holds.test(point))?.[0] ?? "format_character";

/** The text without what is not seen, and what was taken out. Combining marks may meet anew: normalize afterwards. */
export function stripHidden(text: string): { readonly text: string; readonly removed: HiddenCounts } {
  const removed: Partial<Record<HiddenKind, number>> = {};
  const stripped = text.replace(hidden, (point) => {
    const kind = kindOf(point);
    removed[kind] = (removed[kind] ?? 0) + 1;
    return "";
  });
  return { text: stripped, removed };
}

/**
 * For text that must keep its bytes elsewhere, such as a file that edits have to match: what is not seen is shown as
 * `\u{202E}` and counted (SEC-16). Everything else is unchanged.
 */
export function showHidden(text: string): { readonly text: string; readonly shownCount: number } {
  let shownCount = 0;
  const shown = text.replace(hidden, (point) => {
    shownCount += 1;
    return `\\u{${(point.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`;
  });
  return { text: shown, shownCount };
}

const shownEscape = /\\u\{([0-9A-F]{4,6})\}/g;

/** What `showHidden` made of it, read back: escapes of code points that are seen stay text. */
export const readShown = (text: string): string =>
  text.replace(shownEscape, (written: string, hex: string) => {
    const point = Number.parseInt(hex, 16);
    const character = point <= 0x10ffff ? String.fromCodePoint(point) : "";
    return character !== "" && showHidden(character).shownCount > 0 ? character : written;
  });

/** JSON as it is, but for what is not seen: in its own escapes, so that it can be read and copied. */
export const visibleJson = (value: JsonValue): string =>
  JSON.stringify(value).replace(hidden, (point) =>
    Array.from({ length: point.length }, (_, at) => `\\u${point.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
      "",
    ),
  );
