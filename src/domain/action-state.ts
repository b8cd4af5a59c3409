/** The life of an action. Legal pairs stand in `legalTransitions`; a migration copies them to SQL (AUD-3). */
export const actionStates = [
  "proposed",
  "invalid",
  "denied",
  "approval_pending",
  "approval_granted",
  "approval_refused",
  "approval_expired",
  "approval_superseded",
  "authorized",
  "intent_recorded",
  "started",
  "succeeded",
  "failed_definite",
  "unknown",
  "reconciling",
  "reconciled_applied",
  "reconciled_not_applied",
  "reconcile_inconclusive",
  "resolved_by_person",
  "cancelled",
] as const;

export type ActionState = (typeof actionStates)[number];

/** From each state (null: the start) the states that may follow. Source: the table of AUD-5. */
export const legalTransitions: ReadonlyMap<ActionState | null, readonly ActionState[]> = new Map<
  ActionState | null,
  readonly ActionState[]
>([
  [null, ["proposed"]],
  ["proposed", ["invalid", "denied", "approval_pending", "authorized", "cancelled"]],
  [
    "approval_pending",
    ["approval_granted", "approval_refused", "approval_expired", "approval_superseded", "cancelled"],
  ],
  ["approval_granted", ["denied", "approval_expired", "approval_superseded", "authorized", "cancelled"]],
  ["authorized", ["invalid", "intent_recorded", "cancelled"]],
  ["intent_recorded", ["started", "cancelled"]],
  ["started", ["succeeded", "failed_definite", "unknown"]],
  ["failed_definite", ["started"]],
  ["unknown", ["reconciling"]],
  ["reconciling", ["reconciled_applied", "reconciled_not_applied", "reconcile_inconclusive"]],
  ["reconciled_not_applied", ["started"]],
  ["reconcile_inconclusive", ["reconciling", "resolved_by_person"]],
]);

/** Nothing more happens to an action in these states by itself (AUD-6). */
export const statesAtRest: ReadonlySet<ActionState> = new Set<ActionState>([
  "invalid",
  "denied",
  "approval_refused",
  "approval_expired",
  "approval_superseded",
  "cancelled",
  "succeeded",
  "failed_definite",
  "reconciled_applied",
  "reconciled_not_applied",
  "resolved_by_person",
]);

export function isLegalTransition(from: ActionState | null, to: ActionState): boolean {
  return legalTransitions.get(from)?.includes(to) ?? false;
}

/** Why an action was cancelled before its effect. */
export type CancelCause = "stop" | "paused" | "budget" | "shutdown" | "crash" | "log_failed_before";
