import { z } from "zod";
import type { JsonObject, Refusal } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";
import type { FinishedCommand } from "./command-output.ts";
import { presentRefusal, refusalText } from "./refusal-text.ts";
import { budgetExceeded } from "./refusals.ts";
import { fitBody, resultText } from "./result-text.ts";
import { changesLine, type TreeChanges } from "./tree-changes.ts";

/** Record fields of everything that runs a command (ACI-53). */
export const commandFields = {
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  cancelled: z.boolean(),
  /** The limit of the sandbox, beside time, that ended it: number, unit, of what. */
  limit: z.string().nullable(),
  stdout_bytes: z.number().int(),
  stderr_bytes: z.number().int(),
  dropped_bytes: z.number().int(),
  /** Names of processes that outlived the shell. */
  killed: z.array(z.string()),
  page: z.string().nullable(),
  tree_before: z.string(),
  tree_after: z.string(),
  changed_count: z.number().int(),
};

export const treeRecord = (changes: TreeChanges): JsonObject => ({
  tree_before: changes.fingerprintBefore,
  tree_after: changes.fingerprintAfter,
  changed_count: changes.changeSet?.changes.length ?? 0,
});

/** Counts and fingerprints of the tree, safe for the ledger. */
export const changeEvidence = (changes: TreeChanges): JsonObject => ({
  ...treeRecord(changes),
  refused_count: changes.causes.length,
});

/** What else belongs into the header of a command's result. */
export function sideFacts(finished: FinishedCommand, changes: TreeChanges): readonly string[] {
  const { missing } = finished;
  const changed = changesLine(changes);
  return [
    ...(missing === null
      ? []
      : [`program \`${missing}\` is missing in the sandbox (see \`countersign doctor --sandbox\`)`]),
    ...(finished.killed.length === 0
      ? []
      : [`left running and killed: ${finished.killed.join(", ")} (start, use and stop a server in one command)`]),
    ...(changed === null ? [] : [changed]),
  ];
}

type Stopped = { readonly essentials: string; readonly body: readonly string[]; readonly own: JsonObject };

/** A command that was stopped at its limit: the remedy, then the output so far. */
export function presentTimeout(refusal: Refusal, { essentials, body, own }: Stopped): Presented {
  const remedy = fitBody(refusalText(refusal), { lines: 10, bytes: 4_000 }).body;
  return {
    ...presentRefusal(refusal, "failed", own),
    text: resultText("failed", `timed_out: ${refusal.received}; ${essentials}`, [...remedy, ...body]),
  };
}

const leastTimeoutMs = 1_000;

/** What is asked, cut to what is left of the run; a refusal where that is less than a second (ACI-58). */
export function timeoutWithin(leftMs: number, askedMs: number): number | Refusal {
  const timeoutMs = Math.min(askedMs, leftMs);
  if (timeoutMs >= leastTimeoutMs) return timeoutMs;
  const amounts = { limit: Math.max(0, Math.floor(leftMs / 1000)), used: 0, asked: Math.round(askedMs / 1000) };
  return budgetExceeded("seconds of the run's time", amounts, null);
}
