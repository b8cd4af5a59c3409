import type { Redacted } from "../../domain/index.ts";
import type { AuditedAction } from "../../ledger/index.ts";
import { inCode } from "./markdown.ts";

/** An action that was not done, or not as it was asked for. */
export type NotDone = {
  readonly tool: string;
  /** `denied`, `validation:<code>` and so on, as in the audit event (AUD-9). */
  readonly outcome: string;
  readonly policyIds: readonly string[];
  /** What the policies that denied it advise (AUD-30). */
  readonly advice: readonly string[];
  /** The path it was meant for, as proposed; null where it names none. */
  readonly path: string | null;
};

/** How often a tool was done, denied by the policy, refused as malformed or outdated, and otherwise not done. */
export type ToolCount = {
  readonly tool: string;
  readonly done: number;
  readonly denied: number;
  readonly refused: number;
  readonly other: number;
};

/** Carried out, whatever came of it: a test run that shows red was done. */
export const wasDone = ({ state }: AuditedAction): boolean => state === "succeeded" || state === "reconciled_applied";
const isDenied = ({ event }: AuditedAction): boolean =>
  event.outcome === "denied" || event.outcome.startsWith("approval:");
const isRefused = ({ event }: AuditedAction): boolean => /^(parse|validation):/.test(event.outcome);

/** Actions by tool, in the order of their first use. */
export function countByTool(actions: readonly AuditedAction[]): readonly ToolCount[] {
  return [...Map.groupBy(actions, ({ tool }) => tool)].map(([tool, ofTool]) => {
    const done = ofTool.filter(wasDone).length;
    const denied = ofTool.filter(isDenied).length;
    const refused = ofTool.filter(isRefused).length;
    return { tool, done, denied, refused, other: ofTool.length - done - denied - refused };
  });
}

/** One line: what, for which path, and the rule or the code that stood against it. */
export function notDoneText({ tool, outcome, policyIds, advice, path }: Redacted<NotDone>): string {
  const what = path === null ? inCode(tool) : `${inCode(tool)} of ${inCode(path)}`;
  const advised = advice.length === 0 ? "" : ` (${advice.map(inCode).join(", ")})`;
  if (outcome === "denied") return `${what}: denied by ${policyIds.map(inCode).join(", ")}${advised}`;
  return `${what}: ${inCode(outcome)}`;
}
