import type { AuditedAction } from "../ledger/index.ts";
import { duration, inLine, table } from "./terminal.ts";

/** Actions as a table, then what was not done and why: nothing is hidden because it failed. */
export function auditedText(actions: readonly AuditedAction[]): string {
  const rows = actions.map(({ action_id, tool, state, event, duration_ms }) => [
    action_id,
    tool,
    allowedText(event.allowed),
    state,
    event.outcome,
    duration(duration_ms),
  ]);
  const notDone = actions.filter(({ event }) => event.outcome !== "ok");
  return [
    table([["ACTION", "TOOL", "ALLOWED", "STATE", "OUTCOME", "TIME"], ...rows]),
    notDone.length === 0 ? "every action was done\n" : "not done, or not as asked:\n",
    ...notDone.map(({ action_id, tool, event, policy_ids }) => {
      const rules = event.outcome === "denied" ? ` by ${policy_ids.join(", ")}` : "";
      return `  ${inLine(`${action_id}  ${tool}: ${event.outcome}${rules}`)}\n`;
    }),
  ].join("");
}

export function allowedText(allowed: boolean | null): string {
  if (allowed === null) return "-";
  return allowed ? "yes" : "no";
}
