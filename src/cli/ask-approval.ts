import type { AskApproval } from "../run/index.ts";
import { plain, type Terminal } from "./terminal.ts";

const longestArgumentsShown = 2000;

/** Asks on the terminal for exactly one action: `yes` approves, anything else is a no and may be a reason (AUD-28). */
export function createAskApproval(terminal: Terminal): AskApproval | null {
  const { ask } = terminal;
  if (ask === null) return null;
  return async ({ parsed, facts, decision, expiresAt, approvalId }, signal) => {
    const text = JSON.stringify(parsed.arguments, null, 2);
    const cut =
      text.length > longestArgumentsShown ? `\n(cut; ${text.length - longestArgumentsShown} characters more)` : "";
    const advice = Object.entries(decision.advice).map(([id, words]) => `  ${id}: ${words}`);
    const question = [
      "",
      `The run asks for approval ${approvalId}`,
      `  action:  ${parsed.action.name} (${facts.risk})`,
      `  paths:   ${facts.paths.map(({ resolved }) => resolved).join(", ") || "-"}`,
      `  policy:  ${decision.policyIds.join(", ")}`,
      ...advice,
      `  expires: ${expiresAt}`,
      text.slice(0, longestArgumentsShown) + cut,
      "Type yes to approve exactly this action, or a reason to deny it: ",
    ];
    const answer = (await ask(plain(question.join("\n")), signal)).trim();
    const isGranted = answer === "yes";
    return { isGranted, reason: isGranted ? "" : answer.slice(0, 500) };
  };
}
