import { z } from "zod";
import type { JsonObject, JsonValue, Refusal } from "../domain/index.ts";
import type { AnyAction } from "./catalogue.ts";

/** Stands in an example for a needed field that is missing or does not fit. */
const samples: JsonObject = {
  path: "README.md",
  pattern: "TODO",
  glob: "**/*",
  edits: [{ anchor: "the text as it stands", replacement: "the text as it should be" }],
  content: "",
  command: "ls",
  summary: "what was changed and why",
  title: "what was changed",
};

/**
 * A call of this action that its schema takes, with as many of the model's own arguments as fit (ACI-13); null where even
 * so none does.
 */
export function fittingCall(action: AnyAction, value: JsonValue): Refusal["example"] {
  const given = isObject(value) ? value : {};
  const shape =
    action.Arguments instanceof z.ZodObject ? (action.Arguments.shape as Readonly<Record<string, z.ZodType>>) : {};
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const own = Object.hasOwn(given, name) ? given[name] : undefined;
    const fit = [own, null, samples[name]].find((item) => item !== undefined && schema.safeParse(item).success);
    return fit === undefined ? [] : [[name, fit] as const];
  });
  const args: JsonObject = Object.fromEntries(fields);
  return action.Arguments.safeParse(args).success ? { tool: action.name, arguments: args } : null;
}

const isObject = (value: JsonValue): value is JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value);
