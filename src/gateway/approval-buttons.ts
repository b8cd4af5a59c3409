import type { ApprovalId } from "../domain/index.ts";

/** A button of a check run. GitHub's limits: 3 of them, label and identifier 20 characters, description 40 (GH-44). */
export type Button = { readonly label: string; readonly description: string; readonly identifier: string };

/** The last digits are random; the first ones are time, and collide. */
const codeLength = 12;
const codeOf = (approvalId: ApprovalId): string => approvalId.replaceAll("-", "").slice(-codeLength);

/** Approve, deny and stop, while a question waits. The code stands for the approval, whose id is too long. */
export const toButtons = (approvalId: ApprovalId): readonly Button[] => [
  { label: "Approve", description: "Do exactly what was asked about", identifier: `approve:${codeOf(approvalId)}` },
  { label: "Deny", description: "Go on without it", identifier: `deny:${codeOf(approvalId)}` },
  { label: "Stop", description: "End the run and keep the work so far", identifier: "stop" },
];

/** What a pressed button asks for; `open` are the approvals that wait in its run. Null where it names none of them, or two. */
export function readButton(
  identifier: string,
  open: readonly ApprovalId[],
): { readonly verb: "stop" } | { readonly verb: "approve" | "deny"; readonly approvalId: ApprovalId } | null {
  if (identifier === "stop") return { verb: "stop" };
  const [, verb, code] = /^(approve|deny):([0-9a-f]{12})$/.exec(identifier) ?? [];
  const [approvalId, ...others] = open.filter((id) => codeOf(id) === code);
  if (approvalId === undefined || others.length > 0) return null;
  return { verb: verb === "approve" ? "approve" : "deny", approvalId };
}
