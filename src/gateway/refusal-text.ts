import { type JsonObject, type JsonValue, type Refusal, visibleJson } from "../domain/index.ts";
import type { Presented } from "./action-description.ts";
import { bodyBytes, fitBody, resultText, standardCaps } from "./result-text.ts";

const exampleCharacters = 2_000;

/** The three parts as lines, then what is attached, within the caps of a body (ACI-5, ACI-13). */
export function refusalText(refusal: Refusal): readonly string[] {
  const parts = [
    `allowed: ${refusal.allowed}`,
    `remedy: ${refusal.remedy}`,
    ...(refusal.example === null
      ? []
      : [`example: ${refusal.example.tool} ${exampleJson(refusal.example.arguments as JsonObject)}`]),
  ].map((line) => line.replace(/[\r\n]+/g, " "));
  if (refusal.attachment === "") return fitBody(parts, standardCaps).body;
  const caps = { lines: standardCaps.lines - parts.length, bytes: standardCaps.bytes - bodyBytes(parts) - 1 };
  const lines = refusal.attachment.split("\n");
  const whole = fitBody(lines, caps);
  if (whole.omittedLines === 0) return [...parts, ...whole.body];
  const fitted = fitBody(lines, caps, ["[99999 lines more]"]);
  return [...parts, ...fitted.body, `[${fitted.omittedLines} lines more]`];
}

/** A long example keeps its form; strings in it are shortened, and it says so, since the model has them already. */
function exampleJson(args: JsonObject): string {
  const whole = visibleJson(args);
  if (whole.length <= exampleCharacters) return whole;
  const shortened = JSON.stringify(args, (_key, value: unknown) =>
    typeof value === "string" && value.length > 200
      ? `${value.slice(0, 150)}… (${value.length} characters, as sent)`
      : value,
  );
  return visibleJson(JSON.parse(shortened));
}

/** The answer to a refused or failed call. `own` adds the tool's own record fields where something was executed. */
export function presentRefusal(
  refusal: Refusal,
  status: "refused" | "failed" = "refused",
  own: JsonObject = {},
): Presented {
  const body = refusalText(refusal);
  return {
    status,
    text: resultText(status, `${refusal.code}: ${refusal.received}`, body),
    record: {
      code: refusal.code,
      total_lines: body.length,
      shown_lines: body.length,
      omitted_lines: 0,
      total_bytes: bodyBytes(body) + 1,
      errors_count: 0,
      errors_shown_count: 0,
      clipped_lines: 0,
      next: refusal.example === null ? null : (refusal.example as unknown as JsonValue),
      ...own,
    },
    refusal,
  };
}
