import {
  type ActionOutcome,
  type ActionState,
  type ErrorCode,
  errorCatalogue,
  type JsonObject,
  type LedgerEntry,
  parseStrictJson,
  type Refusal,
  type ResultStatus,
} from "../domain/index.ts";
import type { OpenedText } from "../ledger/index.ts";
import type { ParsedAction } from "./parse.ts";
import { githubFailed, notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { digestOf, type Trail } from "./trail.ts";

type Recorded = {
  readonly state: ActionState;
  readonly entries: readonly LedgerEntry[];
  readonly texts: readonly OpenedText[];
};

const statuses: ReadonlySet<string> = new Set<ResultStatus>(["ok", "empty", "refused", "failed", "unknown"]);

/** The outcome of an action at rest, told again from what was sealed with it. Its record says `replayed`. */
export function recordedOutcome(
  run: RunContext,
  { trail, parsed }: { readonly trail: Trail; readonly parsed: ParsedAction | null },
  { state, entries, texts }: Recorded,
): ActionOutcome {
  const { actionId, tool } = trail.proposed;
  const sealed = texts.findLast(({ field }) => field === "result")?.bytes ?? null;
  const { text, record } = sealed === null ? { text: `refused: ${state}`, record: {} } : readResult(sealed);
  const status = record["status"];
  const isDone = state === "succeeded" || state === "reconciled_applied";
  return {
    actionId,
    tool,
    state,
    status: statuses.has(String(status)) ? (status as ResultStatus) : "refused",
    text,
    record: { ...record, replayed: true },
    refusal: isDone ? null : refusalOf(tool, state, record),
    decision: null,
    approvalId: null,
    changeSet: null,
    argumentsDigest: digestOf(run, trail, parsed?.canonical ?? null),
    durationMs: Date.parse(entries.at(-1)?.time ?? "") - trail.startedAtMs,
  };
}

function readResult(bytes: Uint8Array): { readonly text: string; readonly record: JsonObject } {
  const read = parseStrictJson(bytes);
  if (read.kind === "refused") throw new Error(`a sealed result that the gate refuses: \`${read.code}\``);
  return read.value as { text: string; record: JsonObject };
}

function refusalOf(tool: string, state: ActionState, { error_code: code }: JsonObject): Refusal {
  if (typeof code !== "string" || !Object.hasOwn(errorCatalogue, code)) {
    return notExecuted(null, `the action ended as ${state} before it was taken up again`);
  }
  return githubFailed(tool, { code: code as ErrorCode, remedy: errorCatalogue[code as ErrorCode].remedy });
}
