import type { ExecResult, JsonObject } from "../domain/index.ts";
import { cleanOutput } from "./clean-output.ts";
import { createErrorClassifier } from "./error-lines.ts";
import { standardCaps } from "./result-text.ts";
import type { SavedPages } from "./saved-pages.ts";
import { fitsWhole, type ShapedOutput, shapeOutput, surveyOutput } from "./shape-output.ts";

const capsBesideRefusal = { lines: 90, bytes: 8_192 };

/** A finished command without its raw output: what is shown of it, and where the rest is kept. */
export type FinishedCommand = Omit<ExecResult, "output" | "droppedAt"> & {
  readonly shaped: ShapedOutput;
  readonly page: string | null;
};

/** Cleans and shapes what a command printed; what is left out is kept as a page (ACI-6 to ACI-12). */
export async function finishCommand(
  pages: SavedPages,
  command: string,
  result: ExecResult,
): Promise<{ readonly finished: FinishedCommand; readonly cleaned: Uint8Array }> {
  const cleaned = cleanOutput(result);
  const survey = surveyOutput(cleaned, createErrorClassifier(command));
  // A timeout's remedy stands before the output and needs room.
  const caps = result.timedOut ? capsBesideRefusal : standardCaps;
  const page = fitsWhole(survey, caps) ? null : await pages.keep(cleaned);
  const { output: _output, droppedAt: _droppedAt, ...rest } = result;
  return { finished: { ...rest, shaped: shapeOutput(survey, page, caps), page }, cleaned };
}

/** "exit code 1", "signal SIGKILL", "timed out after 60 s". */
export function endOf(finished: FinishedCommand, limitMs: number): string {
  if (finished.timedOut) return `timed out after ${Math.round(limitMs / 1000)} s`;
  if (finished.isCanceled) return "cancelled";
  return finished.exitCode === null
    ? `ended by signal ${finished.signal ?? "unknown"}`
    : `exit code ${finished.exitCode}`;
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
});

const missingForms = [
  /^(?:\S*bash|\S*sh|env|\/\S+): (?:line \d+: )?(\S+): (?:command not found|not found)$/m,
  /^(?:env: )?[‘'"`]?([^\s‘’'"`:]+)[’'"`]?: (?:command not found|No such file or directory)$/m,
];

/** The program that the shell did not find, by its own message; null where that was not the cause. */
export function missingProgram(finished: FinishedCommand): string | null {
  if (finished.exitCode !== 127) return null;
  const text = finished.shaped.body.join("\n");
  for (const form of missingForms) {
    const found = form.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  return null;
}
