import { type JsonObject, type JsonValue, jsonSizeLimitBytes, showHidden } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";

/** A ready call in a record may repeat long arguments; half of what canonical JSON may hold is left for the text. */
const largestRecordBytes = jsonSizeLimitBytes / 2;

/**
 * A result that can be sealed and sent, whatever a model or a file put into it: what is not seen is shown and counted
 * (SEC-16), no half of a surrogate pair, which has no UTF-8 form, and no ready call longer than the log takes. INVARIANT: the words of an answer never end a run
 * (test/gateway/parse.test.ts).
 */
export function soundResult(presented: Presented): Presented {
  const { text, shownCount } = showHidden(presented.text.toWellFormed().replaceAll("\r\n", "\n"));
  const record = { ...(wellFormed(presented.record) as JsonObject), hidden_count: shownCount };
  const isLong = Buffer.byteLength(JSON.stringify(record)) > largestRecordBytes;
  return {
    ...presented,
    text,
    record: isLong ? { ...record, next: null } : record,
  };
}

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}
