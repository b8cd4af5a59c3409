import { z } from "zod";
import { type JsonObject, refusalCodes } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";

const count = z.number().int().min(0);
const nextCall = z.strictObject({ tool: z.string(), arguments: z.record(z.string(), z.json()) }).nullable();

/** The fields that every record has (ACI-4). Names carry their units (ACI-3). */
const commonFields = {
  status: z.enum(["ok", "empty", "refused", "failed", "unknown"]),
  tool: z.string(),
  action_id: z.string(),
  /** ISO 8601 with an offset. */
  started_at: z.iso.datetime({ offset: true }),
  duration_ms: z.number().min(0),
  total_lines: count,
  shown_lines: count,
  omitted_lines: count,
  total_bytes: count,
  errors_count: count,
  errors_shown_count: count,
  clipped_lines: count,
  /** Hidden code points that the text shows as `\\u{202E}` (SEC-16). */
  hidden_count: count,
  /** A ready call that gets more. */
  next: nextCall,
  replayed: z.boolean(),
};

/** A code of ACI-14 where the call was refused or failed by one. */
const code = z.enum(refusalCodes);

const WithoutOwnFields = z.strictObject({ ...commonFields, code });

/** The output schema of a tool: its own fields where it ran, and the form without them where it did not. */
export function recordSchema(own: z.ZodRawShape): z.ZodType<JsonObject> {
  const ran = z.strictObject({ ...commonFields, code: code.nullable(), ...own });
  return z.union([ran, WithoutOwnFields]) as unknown as z.ZodType<JsonObject>;
}

/** What the gateway knows about an action and its tool does not. */
export type RecordFacts = {
  readonly tool: string;
  readonly actionId: string;
  /** ISO 8601 with an offset. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly replayed: boolean;
};

/** The whole record of a result: to be checked against the tool's `Record` before it leaves. */
export function completeRecord(presented: Presented, facts: RecordFacts): JsonObject {
  return {
    status: presented.status,
    tool: facts.tool,
    action_id: facts.actionId,
    started_at: facts.startedAt,
    duration_ms: facts.durationMs,
    replayed: facts.replayed,
    code: presented.refusal?.code ?? null,
    ...presented.record,
  };
}

/** Counts of a body that is shown whole. */
export const wholeBody = (lines: number, bytes: number): JsonObject => ({
  total_lines: lines,
  shown_lines: lines,
  omitted_lines: 0,
  total_bytes: bytes,
  errors_count: 0,
  errors_shown_count: 0,
  clipped_lines: 0,
  next: null,
});
