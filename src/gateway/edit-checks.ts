import type { JsonObject, Refusal } from "../domain/index.ts";
import type { FileRead } from "../workspace/index.ts";
import type { ActionContext, Prepared } from "./action-description.ts";
import { diffLines } from "./diff-lines.ts";
import { textLines } from "./file-lines.ts";
import { numberedWindows } from "./numbered-window.ts";
import { type Call, changedSinceRead, deletedSinceRead, notRead, outsideWorkspace, tooLarge } from "./refusals.ts";
import { missingFile, resolveFile } from "./resolve-path.ts";
import { decodeText, maxTextBytes } from "./text-bytes.ts";

export type PresentFile = Extract<FileRead, { kind: "file" }>;
type Refused = Extract<Prepared<never>, { kind: "refused" }>;

/** The file that a change is meant for, as it is now. */
export type Target = { readonly kind: "target"; readonly path: string; readonly file: PresentFile } | Refused;

const refused = (refusal: Refusal): Refused => ({ kind: "refused", refusal });

/** Resolves the path and reads the file. A file that was read and is gone is told apart from one that never was. */
export async function openTarget(context: ActionContext, call: Call, path: string): Promise<Target> {
  const resolution = await resolveFile(context, call, path);
  if (resolution.kind === "refused") return resolution;
  const { resolved } = resolution.path;
  const file = await context.workspace.readFile(resolved, maxTextBytes);
  if (file.kind === "too_large") return refused(tooLarge(path, file.sizeBytes, maxTextBytes));
  if (file.kind !== "file") {
    const wasRead = context.fingerprints.recall(resolved) !== null;
    return refused(
      wasRead ? deletedSinceRead(call, path, changedBy(context, resolved)) : await missingFile(context, call, path),
    );
  }
  if (file.hardLinks > 1) return refused(outsideWorkspace(call, path, "the file has more than one hard link"));
  return { kind: "target", path: resolved, file };
}

/** In words: which action changed the path last, or that none of this run did. */
export function changedBy(context: ActionContext, path: string): string {
  const change = context.fingerprints.lastChange(path);
  return change === null ? "outside this run" : `by ${change.tool} in turn ${change.turn} (action ${change.actionId})`;
}

const maxDiffLines = 40;
const regionLines = 40;

/**
 * Never read, or changed since (ACI-40). A difference that is shown whole counts as a reading, so that one change costs
 * one refusal (ACI-41). `lineHint` is where the model wanted to change something.
 */
export function checkFresh(context: ActionContext, path: string, file: PresentFile, lineHint: number): Refusal | null {
  const known = context.fingerprints.recall(path);
  const region = { lineFrom: lineHint > regionLines ? lineHint - 20 : null, lineCount: null };
  if (known === null) return notRead(path, region);
  if (known.sha256 === file.sha256) return null;
  const fresh = decodeText(file.bytes);
  const old = known.bytes === null ? null : decodeText(known.bytes);
  const diff = fresh.kind === "text" && old?.kind === "text" ? diffLines(old.text, fresh.text) : null;
  const isWhole = diff !== null && diff.length <= maxDiffLines;
  if (isWhole) context.fingerprints.remember(path, file.sha256, file.bytes);
  const text = fresh.kind === "text" ? fresh.text : "";
  return changedSinceRead(path, changedBy(context, path), region, attachmentOf(diff, text, lineHint));
}

function attachmentOf(diff: readonly string[] | null, text: string, lineHint: number): string {
  const shown =
    diff === null ? ["[the text as it was read is not at hand, or one side is not text]"] : diff.slice(0, maxDiffLines);
  const rest = diff === null ? 0 : diff.length - shown.length;
  const lines = textLines(text);
  const at = firstChangedLine(diff) ?? Math.min(lineHint, Math.max(1, lines.length));
  const region = numberedWindows(lines, [{ lineFrom: at, lineTo: at }], regionLines / 2);
  return [
    "difference:",
    ...shown,
    ...(rest > 0 ? [`[${rest} lines of the difference not shown]`] : []),
    "now:",
    ...region,
  ].join("\n");
}

function firstChangedLine(diff: readonly string[] | null): number | null {
  const match = /^@@ -\d+,\d+ \+(\d+)/.exec(diff?.[0] ?? "");
  return match === null ? null : Number(match[1]);
}

/** Evidence of the fingerprint check, for the intent entry. */
export const fingerprintHolds = (sha256: string): { name: string; holds: true; evidence: JsonObject } => ({
  name: "fingerprint_current",
  holds: true,
  evidence: { sha256 },
});
