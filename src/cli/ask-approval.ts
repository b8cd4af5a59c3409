import type { JsonObject } from "../domain/index.ts";
import type { AskApproval } from "../run/index.ts";
import { plain, type Terminal } from "./terminal.ts";

/** Asks on the terminal for exactly one action: `yes` approves, anything else is a no and may be a reason (AUD-28). */
export function createAskApproval(terminal: Terminal): AskApproval | null {
  const { ask } = terminal;
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
      ...argumentLines(parsed.arguments),
      "Type yes to approve exactly this action, or a reason to deny it: ",
    ];
    const answer = (await ask(plain(question.join("\n")), signal)).trim();
    const isGranted = answer === "yes";
    return { isGranted, reason: isGranted ? "" : answer.slice(0, 500) };
  };
}

/** The whole of what is approved, never cut: texts of many lines as their lines, so that nothing hides in one long one. */
function argumentLines(args: JsonObject): readonly string[] {
  return Object.entries(args).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    const lines = text.replaceAll("\\n", "\n").split("\n");
    return lines.length === 1 ? [`  ${name}: ${text}`] : [`  ${name}:`, ...lines.map((line) => `  | ${line}`)];
  });
}
