import { type ActionState, type Actor, assertNever, type JsonObject, type LedgerEntry } from "../domain/index.ts";

/** The audit event of an action in one line (AUD-9). */
export type AuditEvent = {
  /** `run:<run id>`, `system` or `person:<reference>`. */
  readonly actor: string;
  /** The tool. */
  readonly action: string;
  /** Null where no decision was made. */
  readonly allowed: boolean | null;
  readonly arguments_digest: string | null;
  /**
   * `ok`, `denied`, `approval:<state>`, `parse:<code>`, `validation:<code>`, `error:<class>`, `cancelled:<cause>` or, also
   * while it is under way, `unknown`.
   */
  readonly outcome: string;
};

/** An action as `audit show --json` prints it: from the ledger alone. */
export type AuditedAction = {
  readonly action_id: string;
  readonly tool: string;
  readonly state: ActionState;
  /** Effect of the newest decision. */
  readonly decision: string | null;
  readonly policy_ids: readonly string[];
  /** Keyed (AUD-16); null before the arguments were read. */
  readonly arguments_digest: string | null;
  /** From proposal to the newest state. */
  readonly duration_ms: number;
  readonly event: AuditEvent;
  readonly decisions: readonly { decision_id: string; time: string; index: number; evidence: JsonObject }[];
  readonly states: readonly {
    state: ActionState;
    time: string;
    index: number;
    attempt: number;
    try: number | null;
    /** `run:<run id>`, `system` or `person:<reference>`. */
    actor: string;
    evidence: JsonObject;
  }[];
};

/** From all entries of one action, in the order of the log. Throws on an action without a proposal: no ledger has one. */
export function auditedAction(entries: readonly LedgerEntry[]): AuditedAction {
  const moves = entries.flatMap((entry) => (entry.state === null ? [] : [{ ...entry, state: entry.state }]));
  const decisions = entries.filter(({ type }) => type === "decision");
  const [first] = moves;
  const last = moves.at(-1);
  if (first === undefined || last === undefined || first.actionId === null)
    throw new Error("an action without entries");
  const tool = textOf(first.evidence, "tool") ?? "";
  const digest =
    moves.map(({ evidence }) => textOf(evidence, "argumentsDigest")).findLast((text) => text !== null) ?? null;
  const decided = decisions.at(-1)?.evidence ?? {};
  const { policyIds } = decided;
  return {
    action_id: first.actionId,
    tool,
    state: last.state,
    decision: textOf(decided, "effect"),
    policy_ids: Array.isArray(policyIds) ? policyIds.map(String) : [],
    arguments_digest: digest,
    duration_ms: Date.parse(last.time) - Date.parse(first.time),
    event: {
      actor: actorText(first.actor),
      action: tool,
      allowed: decisions.length === 0 ? null : moves.some(({ state }) => state === "authorized"),
      arguments_digest: digest,
      outcome: outcomeOf(last.state, last.evidence),
    },
    decisions: decisions.map(({ decisionId, time, index, evidence }) => ({
      decision_id: decisionId ?? "",
      time,
      index,
      evidence,
    })),
    states: moves.map(({ state, time, index, attempt, try: number, actor, evidence }) => ({
      state,
      time,
      index,
      attempt,
      try: number,
      actor: actorText(actor),
      evidence,
    })),
  };
}

function textOf(evidence: JsonObject, key: string): string | null {
  const value = evidence[key];
  return typeof value === "string" ? value : null;
}

function actorText(actor: Actor): string {
  switch (actor.kind) {
    case "run":
      return `run:${actor.runId}`;
    case "person":
      return `person:${actor.reference}`;
    case "system":
      return actor.kind;
    default:
      return assertNever(actor);
  }
}

/** The words of AUD-9. What was reconciled or resolved shows what was found. */
export function outcomeOf(state: ActionState, evidence: JsonObject): string {
  const part = (key: string): string => textOf(evidence, key) ?? "unspecified";
  const { applied } = evidence;
  const code = textOf(evidence, "code");
  switch (state) {
    case "invalid":
      return `${part("stage") === "parse" ? "parse" : "validation"}:${part("code")}`;
    case "denied":
      return "denied";
    case "approval_pending":
    case "approval_granted":
    case "approval_refused":
    case "approval_expired":
    case "approval_superseded":
      return `approval:${state.slice("approval_".length)}`;
    case "succeeded":
      // The effect is known, and did not please (AUD-66): refused by a code of the tool, or for instance a failing test.
      if (code !== null) return `error:${code}`;
      return textOf(evidence, "status") === "failed" ? "error:failed" : "ok";
    case "failed_definite":
      return `error:${part("errorCode")}`;
    case "cancelled":
      return `cancelled:${part("cause")}`;
    case "reconciled_applied":
      return "ok";
    case "reconciled_not_applied":
      return "error:not_applied";
    case "resolved_by_person":
      return applied === true ? "ok" : "error:not_applied";
    case "proposed":
    case "authorized":
    case "intent_recorded":
    case "started":
    case "unknown":
    case "reconciling":
    case "reconcile_inconclusive":
      return "unknown";
    default:
      return assertNever(state);
  }
}
