import { isUtf8 } from "node:buffer";

/** Files above this are not decoded (ACI-19). */
export const maxTextBytes = 5 * 1024 * 1024;

export type Encoding = "UTF-8" | "UTF-8 with BOM" | "UTF-16 LE" | "UTF-16 BE";

/** A decoded file. `bomBytes` were taken off the front. */
export type DecodedText =
  | { readonly kind: "text"; readonly text: string; readonly encoding: Encoding }
  | { readonly kind: "undecodable"; readonly offset: number; readonly encoding: Encoding };

export function encodingOf(bytes: Uint8Array): Encoding {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "UTF-8 with BOM";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "UTF-16 LE";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "UTF-16 BE";
  return "UTF-8";
}

const bomBytes: Readonly<Record<Encoding, readonly number[]>> = {
  "UTF-8": [],
  "UTF-8 with BOM": [0xef, 0xbb, 0xbf],
  "UTF-16 LE": [0xff, 0xfe],
  "UTF-16 BE": [0xfe, 0xff],
};

/** A NUL byte in the first 4 KiB, or more than 30 % control bytes there (ACI-19). UTF-16 counts as text by its BOM. */
export function isBinary(bytes: Uint8Array): boolean {
  if (encodingOf(bytes).startsWith("UTF-16")) return false;
  const sample = bytes.subarray(0, 4096);
  let controlCount = 0;
  for (const byte of sample) {
    if (byte === 0) return true;
    if ((byte < 0x20 && !(byte >= 0x07 && byte <= 0x0d) && byte !== 0x1b) || byte === 0x7f) controlCount += 1;
  }
  return controlCount > sample.length * 0.3;
}

/** Strict: a text that isn't valid in its encoding is told with the offset of its first bad byte, never mended (ACI-36). */
export function decodeText(bytes: Uint8Array): DecodedText {
  const encoding = encodingOf(bytes);
  const skip = bomBytes[encoding].length;
  const content = bytes.subarray(skip);
  if (encoding.startsWith("UTF-16")) return decodeUtf16(content, encoding, skip);
  if (!isUtf8(content)) return { kind: "undecodable", offset: skip + firstInvalid(content), encoding };
  return { kind: "text", text: Buffer.from(content).toString("utf8"), encoding };
}

function decodeUtf16(content: Uint8Array, encoding: Encoding, skip: number): DecodedText {
  if (content.length % 2 !== 0) return { kind: "undecodable", offset: skip + content.length - 1, encoding };
  const littleEndian = Buffer.from(content);
  if (encoding === "UTF-16 BE") littleEndian.swap16();
  const text = littleEndian.toString("utf16le");
  const lone = text.search(/\p{Cs}/u);
  if (lone !== -1) return { kind: "undecodable", offset: skip + lone * 2, encoding };
  return { kind: "text", text, encoding };
}

/** The inverse of `decodeText`: BOM and encoding are kept. */
export function encodeText(text: string, encoding: Encoding): Uint8Array {
  const bom = Buffer.from(bomBytes[encoding]);
  if (!encoding.startsWith("UTF-16")) return Buffer.concat([bom, Buffer.from(text, "utf8")]);
  const content = Buffer.from(text, "utf16le");
  if (encoding === "UTF-16 BE") content.swap16();
  return Buffer.concat([bom, content]);
}

/** Length that a lead byte announces; 0 where it can't begin a sequence (Unicode 16, table 3-7). */
function announcedLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/** Length of the well-formed sequence at `at`, or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const length = announcedLength(bytes[at] ?? 0);
  if (length <= 1) return length;
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

function firstInvalid(bytes: Uint8Array): number {
  let at = 0;
  for (let length = 1; at < bytes.length; at += length) {
    length = sequenceLength(bytes, at);
    if (length === 0) return at;
  }
  return at;
}

/** For showing only: undecodable bytes become `\xNN` and are counted, never U+FFFD (ACI-20). */
export function decodeWithEscapes(bytes: Uint8Array): { readonly text: string; readonly escapedCount: number } {
  if (isUtf8(bytes))
    return { text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"), escapedCount: 0 };
  const parts: string[] = [];
  let escapedCount = 0;
  let from = 0;
  while (from < bytes.length) {
    const bad = from + firstInvalid(bytes.subarray(from));
    parts.push(Buffer.from(bytes.subarray(from, bad)).toString("utf8"));
    if (bad < bytes.length) {
      parts.push(`\\x${(bytes[bad] ?? 0).toString(16).padStart(2, "0")}`);
      escapedCount += 1;
    }
    from = bad + 1;
  }
  return { text: parts.join(""), escapedCount };
}
