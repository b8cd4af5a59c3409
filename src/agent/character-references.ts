import { decodeNamedCharacterReference } from "decode-named-character-reference";

/** Numbers also without the semicolon, as browsers read them; names with it alone: `?a=1&copy=2` is no reference. */
const reference = /&(?:#x([0-9a-f]{1,8});?|#([0-9]{1,9});?|([a-z][a-z0-9]{1,31});)/gi;
const replacement = "\ufffd";

/** The text with HTML's character references decoded once, as in `&#60;` and `&lt;`. Unknown names stay as they are. */
export const decodeReferences = (text: string): string =>
  text.replace(reference, (whole: string, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return decodeNamedCharacterReference(name) || whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const isCharacter = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
    return isCharacter ? String.fromCodePoint(point) : replacement;
  });
