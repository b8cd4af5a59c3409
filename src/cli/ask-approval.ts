import { cutRedacted, type JsonValue, mapTexts } from "../domain/index.ts";
import type { AskApproval } from "../run/index.ts";
import { plain, type Terminal } from "./terminal.ts";

const longestReason = 500;

/** Asks on the terminal for exactly one action: `yes` approves, anything else is a no and may be a reason (AUD-28). */
export function createAskApproval(terminal: Terminal): AskApproval | null {
  const { ask, redact } = terminal;
  if (ask === null) return null;
  return async ({ parsed, facts, decision, expiresAt, approvalId }, signal) => {
    const advice = Object.entries(decision.advice).map(([id, words]) => `  ${id}: ${words}`);
    const question = [
      "",
      `The run asks for approval ${approvalId}`,
      `  action:  ${parsed.action.name} (${facts.risk})`,
      `  paths:   ${facts.paths.map(({ resolved }) => resolved).join(", ") || "-"}`,
      `  policy:  ${decision.policyIds.join(", ")}`,
      ...advice,
      `  expires: ${expiresAt}`,
      ...argumentLines(mapTexts(parsed.arguments, redact)),
      "Type yes to approve exactly this action, or a reason to deny it: ",
    ];
    const answer = (await ask(plain(question.join("\n")), signal)).trim();
    const isGranted = answer === "yes";
    return { isGranted, reason: isGranted ? "" : cutRedacted(redact(answer), longestReason) };
  };
}

/** The whole of what is approved, never cut or unescaped: each text as its own lines, so that nothing hides in a long one. */
export function argumentLines(value: JsonValue, name = ""): readonly string[] {
  if (value !== null && typeof value === "object") {
    return Object.entries(value).flatMap(([key, inner]) => argumentLines(inner, name === "" ? key : `${name}.${key}`));
  }
  const lines = String(value).split("\n");
  return lines.length === 1 ? [`  ${name}: ${lines[0]}`] : [`  ${name}:`, ...lines.map((line) => `  | ${line}`)];
}
