import type { JsonObject } from "../domain/index.ts";

/** The arguments of a call as an object, for messages and counting only; empty where they are none. */
export function argumentsOf(raw: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(raw);
    const isObject = parsed !== null && typeof parsed === "object" && !Array.isArray(parsed);
    return isObject ? (parsed as JsonObject) : {};
  } catch {
    return {};
  }
}

/** The path a call names, as written; null where it names none. */
export function pathOf(raw: string): string | null {
  const { path } = argumentsOf(raw);
  return typeof path === "string" ? path : null;
}
