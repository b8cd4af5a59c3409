import { createHash } from "node:crypto";
import { decodeWithEscapes, isBinary } from "./text-bytes.ts";

const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal escapes are what is looked for
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]|\u009b[0-?]*[ -/]*[@-~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is looked for
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** One line as a person at a terminal would have seen it last: no escapes, and of a redrawn line the last state (ACI-12). */
function cleanLine(line: string): string {
  if (!anyControl.test(line)) return line;
  const states = line.replace(escapes, "").split("\r");
  const last = states.findLast((state) => state !== "") ?? "";
  return last.replace(controls, "");
}

/** Bytes that a command printed. `droppedBytes` are missing at offset `droppedAt`. */
export type RawOutput = { readonly output: Uint8Array; readonly droppedBytes: number; readonly droppedAt: number };

const lineFeed = 0x0a;

/** The lines of `bytes`, without their ends; a last line without an end is a line, an empty rest is none. */
export function* byteLines(bytes: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(lineFeed, start);
    yield bytes.subarray(start, end === -1 ? bytes.length : end);
    start = end === -1 ? bytes.length : end + 1;
  }
}

const chunkBytes = 64 * 1024;

/** The same lines as text, decoded in pieces: a call a line would be slow, one string of all would be large (ACI-57). */
export function* decodedLines(bytes: Uint8Array): Generator<string> {
  for (let start = 0; start < bytes.length; ) {
    const lineEnd = bytes.indexOf(lineFeed, Math.min(start + chunkBytes, bytes.length - 1));
    const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
    const lines = decodeWithEscapes(bytes.subarray(start, end)).text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    yield* lines;
    start = end;
  }
}

/** Output cleaned for reading, as bytes to keep: a page's line numbers are those that the model is shown. */
export function cleanOutput(raw: RawOutput): Uint8Array {
  if (raw.droppedBytes === 0) return cleanPart(raw.output);
  const gap = `\n[${raw.droppedBytes} bytes of output were not kept here]\n`;
  return Buffer.concat([
    cleanPart(raw.output.subarray(0, raw.droppedAt)),
    Buffer.from(gap),
    cleanPart(raw.output.subarray(raw.droppedAt)),
  ]);
}

function cleanPart(bytes: Uint8Array): Uint8Array {
  if (isBinary(bytes)) {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return Buffer.from(`[output is not text: ${bytes.length} bytes, sha256 ${sha256}]\n`);
  }
  if (isClean(bytes)) return bytes;
  const cleaned: Buffer[] = [];
  let waiting: string[] = [];
  let waitingCharacters = 0;
  for (const line of decodedLines(bytes)) {
    waiting.push(cleanLine(line));
    waitingCharacters += line.length + 1;
    if (waitingCharacters < chunkBytes) continue;
    cleaned.push(Buffer.from(`${waiting.join("\n")}\n`));
    waiting = [];
    waitingCharacters = 0;
  }
  if (waiting.length > 0) cleaned.push(Buffer.from(`${waiting.join("\n")}\n`));
  return Buffer.concat(cleaned);
}

/** Plain ASCII with tabs and line feeds needs no cleaning; this spares a copy of large output. */
function isClean(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x7f || (byte < 0x20 && byte !== lineFeed && byte !== 0x09)) return false;
  }
  return true;
}
