import { assertNever, type ExecResult, type JsonObject, type ReachedLimit } from "../domain/index.ts";
import { missingProgram } from "../workspace/index.ts";
import { cleanOutput } from "./clean-output.ts";
import { createErrorClassifier } from "./error-lines.ts";
import { type BodyCaps, bodyBytes, standardCaps } from "./result-text.ts";
import type { SavedPages } from "./saved-pages.ts";
import { fitsWhole, type ShapedOutput, shapeOutput, surveyOutput } from "./shape-output.ts";

/** A finished command without its raw output: what is shown of it, and where the rest is kept. */
export type FinishedCommand = Omit<ExecResult, "output" | "droppedAt"> & {
  readonly shaped: ShapedOutput;
  /** The program that was not found in the sandbox, by the shell's own message. */
  readonly missing: string | null;
  readonly page: string | null;
};

/** Cleaned output, and how much of the body's room the caller keeps for lines of its own. */
export type CleanedOutput = { readonly cleaned: Uint8Array; readonly reserved: BodyCaps };

/** A timeout's remedy stands before the output. */
const reservedForRefusal: BodyCaps = { lines: 10, bytes: 4_096 };

export function cleanResult(result: ExecResult, own: readonly string[] = []): CleanedOutput {
  const lead: BodyCaps = { lines: own.length, bytes: own.length === 0 ? 0 : bodyBytes(own) + 1 };
  const refusal = result.timedOut ? reservedForRefusal : { lines: 0, bytes: 0 };
  return {
    cleaned: cleanOutput(result),
    reserved: { lines: lead.lines + refusal.lines, bytes: lead.bytes + refusal.bytes },
  };
}

/** Shapes what a command printed; what is left out is kept as a page (ACI-6 to ACI-12). */
export async function finishCommand(
  pages: SavedPages,
  command: string,
  result: ExecResult,
  { cleaned, reserved }: CleanedOutput,
): Promise<FinishedCommand> {
  const survey = surveyOutput(cleaned, createErrorClassifier(command));
  const caps = { lines: standardCaps.lines - reserved.lines, bytes: standardCaps.bytes - reserved.bytes };
  const page = fitsWhole(survey, caps) ? null : await pages.keep(cleaned);
  const { output: _output, droppedAt: _droppedAt, ...rest } = result;
  const missing = missingProgram(result, [])?.name ?? null;
  return { ...rest, shaped: shapeOutput(survey, page, caps), missing, page };
}

/** "exit code 1", "signal SIGKILL", "timed out after 60 s". */
export function endOf(finished: FinishedCommand, limitMs: number): string {
  if (finished.timedOut) return `timed out after ${Math.round(limitMs / 1000)} s`;
  if (finished.isCanceled) return "cancelled";
  if (finished.limit !== null) return `killed at the sandbox's limit of ${limitText(finished.limit)}`;
  return finished.exitCode === null
    ? `ended by signal ${finished.signal ?? "unknown"}`
    : `exit code ${finished.exitCode}`;
}

/** "4294967296 bytes of memory", as an operator sets it. */
function limitText({ kind, atMost }: ReachedLimit): string {
  switch (kind) {
    case "idle":
      return `${atMost / 1000} s without output or work`;
    case "output":
      return `${atMost} bytes of output`;
    case "run_output":
      return `${atMost} bytes of output for all commands of the run`;
    case "memory":
      return `${atMost} bytes of memory`;
    case "processes":
      return `${atMost} processes at once`;
    case "work_bytes":
      return `${atMost} bytes in the checkout`;
    case "work_inodes":
      return `${atMost} files in the checkout`;
    default:
      return assertNever(kind);
  }
}

/** The record fields of ACI-53 and the counts of the body. */
export function commandRecord(finished: FinishedCommand): JsonObject {
  const { shaped, page } = finished;
  const next =
    page !== null && shaped.nextLine !== null ? { path: page, line_from: shaped.nextLine, line_count: 100 } : null;
  return {
    exit_code: finished.exitCode,
    signal: finished.signal,
    duration_ms: finished.durationMs,
    timed_out: finished.timedOut,
    cancelled: finished.isCanceled,
    limit: finished.limit === null ? null : limitText(finished.limit),
    stdout_bytes: finished.stdoutBytes,
    stderr_bytes: finished.stderrBytes,
    dropped_bytes: finished.droppedBytes,
    killed: finished.killed,
    page,
    total_lines: shaped.totalLines,
    shown_lines: shaped.shownLines,
    omitted_lines: shaped.omittedLines,
    total_bytes: shaped.totalBytes,
    errors_count: shaped.errorsCount,
    errors_shown_count: shaped.errorsShownCount,
    clipped_lines: shaped.clippedLines,
    next: next === null ? null : { tool: "read_file", arguments: next },
  };
}

/** What is safe for the ledger: codes, sizes, counts. */
export const commandEvidence = (finished: FinishedCommand): JsonObject => ({
  exit_code: finished.exitCode,
  signal: finished.signal,
  timed_out: finished.timedOut,
  cancelled: finished.isCanceled,
  stdout_bytes: finished.stdoutBytes,
  stderr_bytes: finished.stderrBytes,
  ...(finished.timedOut ? { outcome: "error:timed_out" } : {}),
  ...(finished.limit === null ? {} : { outcome: `error:limit_${finished.limit.kind}` }),
});
