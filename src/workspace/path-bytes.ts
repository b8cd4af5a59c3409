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

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Length of the valid UTF-8 sequence at `at`, or 0. */
function validSequence(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    try {
      strict.decode(bytes.subarray(at, at + length));
      return length;
    } catch {
      // a longer sequence may be valid
    }
  }
  return 0;
}

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
