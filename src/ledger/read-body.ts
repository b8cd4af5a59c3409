import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { actionStates, canonicalBytes, type JsonObject, type JsonValue, type LedgerEntry } from "../domain/index.ts";

const id = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
const count = z.int().nonnegative();

/** An entry of version 1, whole and nothing else. */
const Body = z.strictObject({
  version: z.literal(1),
  type: z.enum(["action", "decision", "turn", "run", "service"]),
  id,
  origin: z.string(),
  index: count,
  runId: id.nullable(),
  runSeq: count.nullable(),
  fencingToken: count.nullable(),
  actionId: id.nullable(),
  state: z.enum(actionStates).nullable(),
  attempt: count,
  try: z.int().positive().nullable(),
  decisionId: id.nullable(),
  deliveryId: z.string().nullable(),
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .nullable(),
  parentId: id.nullable(),
  time: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  actor: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("run"), runId: id }),
    z.strictObject({ kind: z.literal("system") }),
    z.strictObject({ kind: z.literal("person"), reference: z.string() }),
  ]),
  evidence: z.record(z.string(), z.unknown()),
});

export type BodyRead =
  | { readonly kind: "entry"; readonly entry: LedgerEntry }
  | { readonly kind: "body_not_canonical" | "body_malformed" };

/** The entry that a stored body says, if it says it in canonical form and in full. */
export function readBody(body: Uint8Array): BodyRead {
  const value = parseCanonical(body);
  if (value === undefined) return { kind: "body_not_canonical" };
  const parsed = Body.safeParse(value);
  if (!parsed.success) return { kind: "body_malformed" };
  return { kind: "entry", entry: parsed.data as unknown as LedgerEntry };
}

/** Bytes are canonical if writing what they say gives the same bytes: also equal keys, escapes and numbers are caught. */
function parseCanonical(body: Uint8Array): JsonObject | undefined {
  if (!isUtf8(body)) return undefined;
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body)) as JsonValue;
    return Buffer.compare(canonicalBytes(value), body) === 0 ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
