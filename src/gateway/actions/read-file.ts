import { createHash } from "node:crypto";
import { z } from "zod";
import { type JsonObject, showHidden } from "../../domain/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { lineFacts, numberedLine } from "../file-lines.ts";
import { mediaTypeOf } from "../media-type.ts";
import { presentRefusal } from "../refusal-text.ts";
import { type Call, invalidArguments, lineOutOfRange, tooLarge } from "../refusals.ts";
import { missingFile, resolveFile } from "../resolve-path.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { type FittedBody, fitBody, resultText, standardCaps, widestCaps } from "../result-text.ts";
import { isPageName } from "../saved-pages.ts";
import { decodeText, decodeWithEscapes, encodingOf, isBinary, maxTextBytes } from "../text-bytes.ts";
import { lineNumber, optional, path } from "./arguments.ts";

const name = "read_file";
const defaultLineCount = 100;

const Arguments = z.strictObject({
  path,
  line_from: optional(lineNumber),
  line_count: optional(z.number().int().min(1).max(widestCaps.lines)),
});
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly kind: "page"; readonly name: string } | { readonly kind: "file"; readonly resolved: string };

type Facts =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly sha256: string; readonly resolved: string | null }
  | { readonly kind: "too_large"; readonly sizeBytes: number }
  | { readonly kind: "absent"; readonly refusal: Presented };

const callOf = (args: Arguments): Call => ({ tool: name, arguments: args });

/** Reads a window of one file of the checkout, or of a kept page of output (ACI-20). Its reading is what an edit needs. */
export const readFileAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Reads a text file. Shows line_count lines (default ${defaultLineCount}, at most ${widestCaps.lines}) from line_from (default 1), each as number, tab, text; the numbers are not part of the file. A file must be read before edit_file or delete_file takes it. To find text use search_text, to find files find_files. path "out:7" reads kept output. Files over 5 MiB and binary files are described, not shown.`,
  reason: "The model has to see the code that it is asked to mend, and an edit needs a file that was read.",
  group: "read",
  risk: "SAFE",
  capabilities: [{ grants: ["read_code"] }],
  place: "host",
  semanticFields: ["path"],
  Arguments,
  Record: recordSchema({
    path: z.string(),
    media_type: z.string(),
    encoding: z.string(),
    line_ending: z.enum(["LF", "CRLF", "mixed", "none"]),
    final_newline: z.boolean(),
    line_from: z.number().int(),
    line_to: z.number().int(),
    file_bytes: z.number().int(),
    undecodable_count: z.number().int(),
    sha256: z.string(),
  }),
  effects: (args) => [isPageName(args.path) ? { kind: "search_tree" } : { kind: "read_path", path: args.path }],
  prepare,
  execute,
  present,
};

async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  if (isPageName(args.path)) {
    return { kind: "ready", plan: { kind: "page", name: args.path }, preconditions: [], intent: { page: args.path } };
  }
  const target = await resolveFile(context, callOf(args), args.path);
  if (target.kind === "refused") return target;
  const { resolved, symlink } = target.path;
  return {
    kind: "ready",
    plan: { kind: "file", resolved },
    preconditions: [{ name: "inside_workspace", holds: true, evidence: { symlink } }],
    intent: {},
  };
}

async function execute(context: ActionContext, plan: Plan): Promise<Executed<Facts>> {
  const facts = plan.kind === "page" ? await readPage(context, plan.name) : await readFile(context, plan.resolved);
  const evidence = facts.kind === "bytes" ? { size_bytes: facts.bytes.length } : { failed: facts.kind };
  return { facts, changeSet: null, evidence };
}

async function readPage(context: ActionContext, page: string): Promise<Facts> {
  const bytes = await context.pages.read(page);
  if (bytes !== null) return bytesFacts(bytes, null);
  const example = { tool: name, arguments: { path: `./${page}`, line_from: null, line_count: null } };
  const refusal = invalidArguments("path", page, "the name of a page that this run has kept", example);
  return { kind: "absent", refusal: presentRefusal(refusal, "failed") };
}

async function readFile(context: ActionContext, resolved: string): Promise<Facts> {
  const read = await context.workspace.readFile(resolved, maxTextBytes);
  if (read.kind === "file") return bytesFacts(read.bytes, resolved);
  if (read.kind === "too_large") return { kind: "too_large", sizeBytes: read.sizeBytes };
  const call = { tool: name, arguments: { path: resolved, line_from: null, line_count: null } };
  return { kind: "absent", refusal: presentRefusal(await missingFile(context, call, resolved), "failed") };
}

const bytesFacts = (bytes: Uint8Array, resolved: string | null): Facts => ({
  kind: "bytes",
  bytes,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  resolved,
});

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  if (facts.kind === "absent") return facts.refusal;
  if (facts.kind === "too_large") return presentRefusal(tooLarge(args.path, facts.sizeBytes, maxTextBytes), "failed");
  if (facts.resolved !== null) context.fingerprints.remember(facts.resolved, facts.sha256, facts.bytes);
  if (facts.bytes.length === 0) return presentEmpty(args, facts.sha256);
  // A page was cleaned of binary parts when it was kept.
  if (facts.resolved !== null && isBinary(facts.bytes)) return presentBinary(args, facts.bytes, facts.sha256);
  return presentWindow(args, facts.bytes, facts.sha256);
}

type Described = {
  readonly args: Arguments;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly own: JsonObject;
};

const record = ({ args, sizeBytes, sha256, own }: Described): JsonObject => ({
  path: args.path,
  media_type: "text/plain",
  encoding: "none",
  line_ending: "none",
  final_newline: false,
  line_from: 0,
  line_to: 0,
  file_bytes: sizeBytes,
  undecodable_count: 0,
  sha256,
  ...own,
});

function presentEmpty(args: Arguments, sha256: string): Presented {
  const text = resultText("empty", `${args.path} exists and has zero bytes`, []);
  return {
    status: "empty",
    text,
    record: { ...wholeBody(0, 0), ...record({ args, sizeBytes: 0, sha256, own: {} }) },
    refusal: null,
  };
}

function presentBinary(args: Arguments, bytes: Uint8Array, sha256: string): Presented {
  const mediaType = mediaTypeOf(bytes);
  const text = resultText("ok", `${args.path} is not text: ${mediaType}, ${bytes.length} bytes, sha256 ${sha256}`, []);
  const own = { media_type: mediaType, encoding: "binary" };
  return {
    status: "ok",
    text,
    record: { ...wholeBody(0, 0), ...record({ args, sizeBytes: bytes.length, sha256, own }) },
    refusal: null,
  };
}

/** The text to show: without BOM, undecodable bytes as escapes. */
function readableText(bytes: Uint8Array): { readonly text: string; readonly escapedCount: number } {
  const decoded = decodeText(bytes);
  if (decoded.kind === "text") return { text: decoded.text, escapedCount: 0 };
  return decodeWithEscapes(
    decoded.encoding === "UTF-8" ? bytes : bytes.subarray(decoded.encoding.startsWith("UTF-8") ? 3 : 2),
  );
}

function presentWindow(args: Arguments, bytes: Uint8Array, sha256: string): Presented {
  const { text, escapedCount } = readableText(bytes);
  const facts = lineFacts(text);
  const lineFrom = args.line_from ?? 1;
  const { totalLines } = facts;
  if (lineFrom > totalLines) {
    const lastWindow = Math.max(1, totalLines - (args.line_count ?? defaultLineCount) + 1);
    return presentRefusal(lineOutOfRange(args.path, lineFrom, totalLines, lastWindow), "failed");
  }
  const asked = windowLines(text, lineFrom, args.line_count ?? defaultLineCount);
  const fitted = fitBody(
    asked.map((line, offset) => numberedLine(lineFrom + offset, line)),
    args.line_count === null ? standardCaps : widestCaps,
  );
  const lineTo = lineFrom + fitted.shownLines - 1;
  const below = totalLines - lineTo;
  const next = below === 0 ? null : { tool: name, arguments: { ...args, line_from: lineTo + 1 } };
  const encoding = encodingOf(bytes);
  const essentials = [
    `${args.path} lines ${lineFrom}-${lineTo} of ${totalLines} (${lineFrom - 1} above, ${below} below)`,
    `${bytes.length} bytes, ${facts.lineEnding}, ${encoding}`,
    ...notable(facts.endsWithNewline, escapedCount, fitted),
    ...(next === null ? [] : [`next: line_from ${lineTo + 1}`]),
  ];
  const own = {
    encoding,
    line_ending: facts.lineEnding,
    final_newline: facts.endsWithNewline,
    line_from: lineFrom,
    line_to: lineTo,
    undecodable_count: escapedCount,
    total_lines: totalLines,
    shown_lines: fitted.shownLines,
    omitted_lines: totalLines - fitted.shownLines,
    clipped_lines: fitted.clippedLines,
    next,
  };
  return {
    status: "ok",
    text: resultText("ok", essentials.join("; "), fitted.body),
    record: { ...wholeBody(totalLines, bytes.length), ...record({ args, sizeBytes: bytes.length, sha256, own }) },
    refusal: null,
  };
}

function notable(
  endsWithNewline: boolean,
  escapedCount: number,
  { body, clippedLines }: FittedBody,
): readonly string[] {
  const hiddenCount = showHidden(body.join("\n")).shownCount;
  return [
    ...(endsWithNewline ? [] : ["no newline at the end of the file"]),
    ...(escapedCount > 0 ? [`${escapedCount} undecodable bytes shown as \\xNN`] : []),
    ...(hiddenCount > 0 ? [`${hiddenCount} hidden code points shown as \\u{NNNN}; a JSON escape writes one`] : []),
    ...(clippedLines > 0 ? [`${clippedLines} long lines clipped`] : []),
  ];
}

/** The lines of the window, without splitting the whole text. */
function windowLines(text: string, lineFrom: number, lineCount: number): readonly string[] {
  let start = 0;
  for (let line = 1; line < lineFrom; line += 1) start = text.indexOf("\n", start) + 1;
  const lines: string[] = [];
  while (lines.length < lineCount && start < text.length) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end === -1 ? text.length : end);
    lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
    start = end === -1 ? text.length : end + 1;
  }
  return lines;
}
