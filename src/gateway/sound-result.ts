import { type JsonObject, type JsonValue, jsonSizeLimitBytes } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";

/** A ready call in a record may repeat long arguments; half of what canonical JSON may hold is left for the text. */
const largestRecordBytes = jsonSizeLimitBytes / 2;

/**
 * A result that can be sealed and sent, whatever a model or a file put into it: no half of a surrogate pair, which has no
 * UTF-8 form, and no ready call longer than the log takes. INVARIANT: the words of an answer never end a run
 * (test/gateway/parse.test.ts).
 */
export function soundResult(presented: Presented): Presented {
  const record = wellFormed(presented.record) as JsonObject;
  const isLong = Buffer.byteLength(JSON.stringify(record)) > largestRecordBytes;
  return {
    ...presented,
    text: presented.text.toWellFormed(),
    record: isLong ? { ...record, next: null } : record,
  };
}

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}
