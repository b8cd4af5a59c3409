/**
 * Names are bytes; our maps are keyed by strings. Valid UTF-8 is itself; each other byte becomes a lone surrogate
 * U+DC80 to U+DCFF (Python's PEP 383 does the same), so that two names never meet and the way back is exact.
 */
export function nameOfBytes(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\u{FFFD}") || Buffer.from(text, "utf8").equals(bytes)) return text;
  let name = "";
  for (let at = 0; at < bytes.length; ) {
    const length = validSequence(bytes, at);
    name += length > 0 ? bytes.toString("utf8", at, at + length) : String.fromCharCode(0xdc00 + bytes.readUInt8(at));
    at += Math.max(length, 1);
  }
  return name;
}

/** Length of the valid UTF-8 sequence at `at`, or 0 (RFC 3629 section 4). One look at each byte: names may be hostile. */
function validSequence(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0xff;
  const length = lengthsBelow.find(([below]) => first < below)?.[1] ?? 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const [least, most] = secondByte.get(first) ?? [0x80, 0xbf];
  for (let next = 1; next < length; next += 1) {
    const byte = bytes[at + next] ?? 0;
    if (byte < (next === 1 ? least : 0x80) || byte > (next === 1 ? most : 0xbf)) return 0;
  }
  return length;
}

/** How long a sequence is, by the bounds of its first byte. */
const lengthsBelow: readonly (readonly [below: number, length: number])[] = [
  [0x80, 1],
  [0xc2, 0],
  [0xe0, 2],
  [0xf0, 3],
  [0xf5, 4],
];

/** Neither longer than needed, nor a surrogate, nor beyond U+10FFFF. */
const secondByte: ReadonlyMap<number, readonly [least: number, most: number]> = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
]);

const escaped = /[\u{DC80}-\u{DCFF}]/u;

/** The bytes of a name made by `nameOfBytes`. */
export function bytesOfName(name: string): Buffer {
  if (!escaped.test(name)) return Buffer.from(name, "utf8");
  return Buffer.concat(
    Array.from(name, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code >= 0xdc80 && code <= 0xdcff ? Buffer.of(code - 0xdc00) : Buffer.from(character, "utf8");
    }),
  );
}

/** Whether every byte of the name was valid UTF-8. */
export const isUtf8Name = (name: string): boolean => !escaped.test(name);
