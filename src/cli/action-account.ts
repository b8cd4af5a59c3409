import type { AuditedAction } from "../ledger/index.ts";
import { allowedText } from "./audited-view.ts";
import { inLine } from "./terminal.ts";

type Move = AuditedAction["states"][number];

/** By whom or what it was authorized: policies, and the person where one was asked. */
export function authorityText(action: AuditedAction): string {
  const { allowed } = action.event;
  if (allowed === null) return "nothing was decided";
  const answer = action.states.find(({ state }) => state === "approval_granted" || state === "approval_refused");
  const said = answer === undefined ? "" : `; ${answerText(answer)}`;
  return inLine(`${allowedText(allowed)}, by ${policiesText(action.policy_ids)}${said}`);
}

const answerText = ({ state, actor, time, evidence }: Move): string =>
  `${actor} said ${state === "approval_granted" ? "yes" : "no"} (${fact(evidence, "channel")}, ${time}, approval ${fact(evidence, "approvalId")})`;

const policiesText = (ids: readonly string[]): string => {
  if (ids.length === 0) return "no policy";
  return `${ids.length === 1 ? "policy" : "policies"} ${ids.map((id) => `\`${id}\``).join(", ")}`;
};

const fact = (evidence: Move["evidence"], key: string): string => {
  const value = evidence[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : "not on record";
};

/** What was not done, and why; null where it was done as asked. */
export function notDoneText(action: AuditedAction): string | null {
  const last = action.states.at(-1);
  if (last === undefined || action.event.outcome === "ok") return null;
  return inLine(reasonOf(action, last));
}

function reasonOf({ policy_ids: ids, event }: AuditedAction, { state, actor, evidence }: Move): string {
  switch (state) {
    case "invalid":
      return `refused at ${fact(evidence, "stage")}: ${fact(evidence, "code")}, remedy ${fact(evidence, "remedyCode")}`;
    case "denied":
      return `forbidden by ${policiesText(ids)} (${fact(evidence, "code")})`;
    case "approval_pending":
      return `waits for a person until ${fact(evidence, "expiresAt")} (approval ${fact(evidence, "approvalId")})`;
    case "approval_refused":
      return `${actor} said no`;
    case "approval_expired":
      return `no answer in time: it ended at ${fact(evidence, "expiresAt")}`;
    case "approval_superseded":
      return `what was asked about changed meanwhile: ${fact(evidence, "binding")}`;
    case "cancelled":
      return `nothing was begun: ${fact(evidence, "cause")}`;
    case "failed_definite":
      return `${fact(evidence, "errorCode")}: ${fact(evidence, "proof")}`;
    case "reconciled_not_applied":
      return "looked for, and it was not done";
    case "resolved_by_person":
      return `${actor} looked, and says that it was not done`;
    case "succeeded":
      return `done, and it ended as ${event.outcome}`;
    default:
      return `it is not known whether it was done: ${state}`;
  }
}
