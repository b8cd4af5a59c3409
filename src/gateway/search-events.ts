import { z } from "zod";
import type { ExecResult } from "../domain/index.ts";
import { byteLines } from "./clean-output.ts";
import { plainPath } from "./ripgrep.ts";
import { decodeWithEscapes } from "./text-bytes.ts";

/** A line that matched or stands beside one that did. */
export type FoundLine = {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
  /** Where in `text` the first match begins. */
  readonly at: number;
  readonly matchesCount: number;
};

export type FoundFile = {
  readonly path: string;
  readonly lines: readonly FoundLine[];
  readonly matchingLines: number;
  readonly matchesCount: number;
  readonly isBinary: boolean;
};

export type SearchEvents = {
  /** In path order. */
  readonly files: readonly FoundFile[];
  /** What ripgrep itself said. */
  readonly messages: readonly string[];
};

const Text = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })]);
/** ripgrep's JSON lines, as far as they are used (the printer crate's `JSON` documentation). */
const Event = z.discriminatedUnion("type", [
  z.object({ type: z.literal("begin"), data: z.object({ path: Text }) }),
  z.object({ type: z.literal("end"), data: z.object({ path: Text, binary_offset: z.number().nullable() }) }),
  z.object({
    type: z.enum(["match", "context"]),
    data: z.object({
      path: Text,
      lines: Text,
      line_number: z.number().nullable(),
      submatches: z.array(z.object({ start: z.number() })),
    }),
  }),
  z.object({ type: z.literal("summary") }),
]);
type Event = z.infer<typeof Event>;
type LineEvent = Extract<Event, { type: "match" | "context" }>;

const toBytes = (text: z.infer<typeof Text>): Uint8Array =>
  "text" in text ? Buffer.from(text.text) : Buffer.from(text.bytes, "base64");
const toText = (text: z.infer<typeof Text>): string =>
  "text" in text ? text.text : decodeWithEscapes(toBytes(text)).text;

type Building = { path: string; lines: FoundLine[]; matchingLines: number; matchesCount: number; isBinary: boolean };

/** Reads ripgrep's JSON output. Its messages arrive between the events, since both streams are one. */
export function readSearchEvents(result: ExecResult): SearchEvents {
  const files = new Map<string, Building>();
  const messages: string[] = [];
  for (const bytes of byteLines(result.output)) {
    const line = decodeWithEscapes(bytes).text;
    const event = line.startsWith("{") ? parseEvent(line) : null;
    if (event === null) messages.push(line);
    else addEvent(files, event);
  }
  const found = [...files.values()].filter((file) => file.matchingLines > 0);
  return {
    files: found.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    messages: messages.filter((line) => line !== ""),
  };
}

function parseEvent(line: string): Event | null {
  try {
    return Event.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null; // half an event, cut by the cap on kept output, or a message that happens to begin so
  }
}

function addEvent(files: Map<string, Building>, event: Event): void {
  if (event.type === "summary") return;
  const path = plainPath(toText(event.data.path));
  const file = files.get(path) ?? { path, lines: [], matchingLines: 0, matchesCount: 0, isBinary: false };
  files.set(path, file);
  if (event.type === "begin") return;
  if (event.type === "end") {
    file.isBinary = event.data.binary_offset !== null;
    return;
  }
  const found = toFoundLine(event);
  file.lines.push(found);
  if (found.isMatch) file.matchingLines += 1;
  file.matchesCount += found.matchesCount;
}

function toFoundLine(event: LineEvent): FoundLine {
  const { lines, submatches, line_number } = event.data;
  const bytes = toBytes(lines);
  const start = submatches[0]?.start ?? 0;
  return {
    line: line_number ?? 0,
    text: toText(lines).replace(/\r?\n$/, ""),
    isMatch: event.type === "match",
    at: decodeWithEscapes(bytes.subarray(0, start)).text.length,
    matchesCount: submatches.length,
  };
}
