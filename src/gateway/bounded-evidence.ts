import { canonicalBytes, type JsonObject, type JsonValue } from "../domain/index.ts";

/** What an effect may take of an entry, whose body ends at 16 KiB (AUD-41). */
const largestEvidenceBytes = 8 * 1024;
/** The requests at the end are those that the effect hangs on. */
const shownItems = 20;

/**
 * Evidence that fits an entry. Where it does not, its lists are cut to their ends and the whole is sealed beside it as
 * `exchange`: a commit of many files makes a request for each.
 */
export function boundedEvidence(evidence: JsonObject): {
  readonly evidence: JsonObject;
  readonly texts: Readonly<Record<string, Uint8Array>>;
} {
  const whole = canonicalBytes(evidence);
  if (whole.byteLength <= largestEvidenceBytes) return { evidence, texts: {} };
  const cut = withShortLists(evidence) as JsonObject;
  const isSmall = canonicalBytes(cut).byteLength <= largestEvidenceBytes;
  return { evidence: isSmall ? cut : { evidenceSizeBytes: whole.byteLength }, texts: { exchange: whole } };
}

function withShortLists(value: JsonValue): JsonValue {
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.slice(-shownItems).map(withShortLists);
  const entries = Object.entries(value).flatMap(([key, item]): (readonly [string, JsonValue])[] => {
    const kept = [key, withShortLists(item)] as const;
    const omitted = isList(item) ? item.length - shownItems : 0;
    return omitted > 0 ? [kept, [`${key}OmittedCount`, omitted]] : [kept];
  });
  return Object.fromEntries(entries);
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
