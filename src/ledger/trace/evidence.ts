import type { JsonObject } from "../../domain/index.ts";

/** Codes, ids and names of models: what has another form could be any text and goes into no span (AUD-76). */
const codeForm = /^[\w.:/+=@-]{1,128}$/;

export const asCode = (value: unknown): string | null =>
  typeof value === "string" && codeForm.test(value) ? value : null;

/** A code in an entry's evidence; null where there is none. */
export const codeOf = (evidence: JsonObject, key: string): string | null => asCode(evidence[key]);

export function integerOf(evidence: JsonObject, key: string): number | null {
  const value = evidence[key];
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

/** The codes of a list, those of another form left out. */
export function codesOf(evidence: JsonObject, key: string): readonly string[] {
  const value = evidence[key];
  return Array.isArray(value)
    ? value.filter((item) => typeof item === "string" && codeForm.test(item)).map(String)
    : [];
}

export function objectOf(evidence: JsonObject, key: string): JsonObject {
  const value = evidence[key];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
