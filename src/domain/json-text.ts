import { isUtf8 } from "node:buffer";
import {
  type JsonParsed,
  type JsonTextRefusal,
  type JsonTextRefusalCode,
  type JsonValue,
  jsonDepthLimit,
  jsonSizeLimitBytes,
} from "./json.ts";

/**
 * Reads one JSON text strictly: what two parsers might read differently is refused, not guessed (AUD-14). Bytes must be
 * UTF-8 without a byte order mark. Never normalises Unicode. `sizeLimitBytes`: for texts that the gate never sees.
 */
export function parseStrictJson(text: string | Uint8Array, sizeLimitBytes = jsonSizeLimitBytes): JsonParsed {
  if (typeof text === "string") {
    if (Buffer.byteLength(text) > sizeLimitBytes) return { kind: "refused", code: "too_large", position: 0 };
    return parseJsonText(text);
  }
  if (text.byteLength > sizeLimitBytes) return { kind: "refused", code: "too_large", position: 0 };
  if (!isUtf8(text)) return { kind: "refused", code: "invalid_utf8", position: firstInvalidByte(text) };
  return parseJsonText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(text));
}

/** Length of the longest prefix without an invalid sequence, found by halving: a cut sequence at its end is no fault. */
function firstInvalidByte(bytes: Uint8Array): number {
  const isSound = (length: number): boolean => {
    try {
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let sound = 0;
  let unsound = bytes.byteLength + 1; // a sequence cut off by the end of the text is found here
  while (unsound - sound > 1) {
    const middle = Math.floor((sound + unsound) / 2);
    if (isSound(middle)) sound = middle;
    else unsound = middle;
  }
  return sound;
}

type Reader = { readonly text: string; at: number; refusal: JsonTextRefusal | null };

/** Parsed value, or undefined after a refusal. JSON has no undefined, so the two can't be mixed up. */
type Read<Value> = Value | undefined;

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
/** Up to the next quote, backslash, control or surrogate. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls must be escaped in JSON
const plainRun = /[^"\\\u0000-\u001f\ud800-\udfff]*/y;
const unicodeEscape = /\\u([0-9a-fA-F]{4})/y;
const literals: readonly (readonly [string, JsonValue])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** A JSON text of RFC 8259 to its value. `JSON.parse` would keep the last of two equal keys and round large integers. */
function parseJsonText(text: string): JsonParsed {
  const reader: Reader = { text, at: 0, refusal: null };
  skipSpace(reader);
  const value = readValue(reader, 0);
  skipSpace(reader);
  if (reader.refusal === null && reader.at < text.length) refuse(reader, "not_json");
  if (reader.refusal !== null || value === undefined) return reader.refusal ?? refuse(reader, "not_json");
  return { kind: "value", value };
}

function refuse(reader: Reader, code: JsonTextRefusalCode, position = reader.at): JsonTextRefusal {
  reader.refusal ??= { kind: "refused", code, position };
  return reader.refusal;
}

/** What a sticky expression matches here; moves behind it. */
function take(reader: Reader, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = reader.at;
  const match = expression.exec(reader.text);
  if (match !== null) reader.at += match[0].length;
  return match;
}

function skipSpace(reader: Reader): void {
  take(reader, space);
}

function takeMark(reader: Reader, mark: string): boolean {
  if (reader.text[reader.at] !== mark) return false;
  reader.at += 1;
  return true;
}

function readValue(reader: Reader, depth: number): Read<JsonValue> {
  switch (reader.text[reader.at]) {
    case "{":
      return readObject(reader, depth + 1);
    case "[":
      return readArray(reader, depth + 1);
    case '"':
      return readString(reader);
    default:
      return readScalar(reader);
  }
}

function readScalar(reader: Reader): Read<JsonValue> {
  for (const [word, value] of literals) {
    if (!reader.text.startsWith(word, reader.at)) continue;
    reader.at += word.length;
    return value;
  }
  const start = reader.at;
  const match = take(reader, number);
  if (match === null) return void refuse(reader, "not_json");
  const value = Number(match[0]);
  if (!Number.isFinite(value)) {
    return void refuse(reader, match[2] === undefined ? "integer_out_of_range" : "number_overflow", start);
  }
  const isInteger = match[1] === undefined && match[2] === undefined;
  if (isInteger && !Number.isSafeInteger(value)) return void refuse(reader, "integer_out_of_range", start);
  return value;
}

function readArray(reader: Reader, depth: number): Read<JsonValue> {
  if (depth > jsonDepthLimit) return void refuse(reader, "too_deep");
  const items: JsonValue[] = [];
  reader.at += 1;
  skipSpace(reader);
  if (takeMark(reader, "]")) return items;
  for (;;) {
    skipSpace(reader);
    const item = readValue(reader, depth);
    if (item === undefined) return undefined;
    items.push(item);
    skipSpace(reader);
    if (takeMark(reader, "]")) return items;
    if (!takeMark(reader, ",")) return void refuse(reader, "not_json");
  }
}

function readObject(reader: Reader, depth: number): Read<JsonValue> {
  if (depth > jsonDepthLimit) return void refuse(reader, "too_deep");
  const members: { [key: string]: JsonValue } = {};
  reader.at += 1;
  skipSpace(reader);
  if (takeMark(reader, "}")) return members;
  for (;;) {
    skipSpace(reader);
    if (!readMember(reader, members, depth)) return undefined;
    skipSpace(reader);
    if (takeMark(reader, "}")) return members;
    if (!takeMark(reader, ",")) return void refuse(reader, "not_json");
  }
}

function readMember(reader: Reader, members: { [key: string]: JsonValue }, depth: number): boolean {
  const start = reader.at;
  const key = readString(reader);
  if (key === undefined) return false;
  if (key === "__proto__") refuse(reader, "proto_key", start);
  if (Object.hasOwn(members, key)) refuse(reader, "duplicate_key", start);
  skipSpace(reader);
  if (!takeMark(reader, ":")) refuse(reader, "not_json");
  if (reader.refusal !== null) return false;
  skipSpace(reader);
  const value = readValue(reader, depth);
  if (value === undefined) return false;
  members[key] = value;
  return true;
}

function readString(reader: Reader): Read<string> {
  if (!takeMark(reader, '"')) return void refuse(reader, "not_json");
  let text = "";
  for (;;) {
    text += take(reader, plainRun)?.[0] ?? "";
    if (takeMark(reader, '"')) return text;
    const unit = readUnit(reader);
    if (unit === undefined) return undefined;
    text += unit;
  }
}

/** One character that a plain run stops at: an escape or a surrogate, each pair taken as a whole. */
function readUnit(reader: Reader): Read<string> {
  const start = reader.at;
  const first = readCodeUnit(reader);
  if (first === undefined || !/[\ud800-\udfff]/.test(first)) return first;
  const second = /^(?:[\ud800-\udfff]|\\u)/.test(reader.text.slice(reader.at, reader.at + 2))
    ? readCodeUnit(reader)
    : "";
  if (second === undefined) return undefined;
  const isHigh = first < "\udc00";
  if (isHigh && second >= "\udc00" && second <= "\udfff") return first + second;
  const isReversed = !isHigh && second >= "\ud800" && second < "\udc00";
  return void refuse(reader, isReversed ? "reversed_surrogates" : "lone_surrogate", start);
}

function readCodeUnit(reader: Reader): Read<string> {
  const unit = reader.text[reader.at];
  if (unit !== undefined && unit >= "\ud800" && unit <= "\udfff") {
    reader.at += 1;
    return unit;
  }
  const digits = take(reader, unicodeEscape)?.[1];
  if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
  const short = unit === "\\" ? shortEscapes.get(reader.text[reader.at + 1] ?? "") : undefined;
  if (short === undefined) return void refuse(reader, "not_json");
  reader.at += 2;
  return short;
}
