import type { Decision } from "../domain/index.ts";
import type { Facts } from "./facts.ts";
import type { ParsedAction } from "./parse.ts";

declare const sealedByGateway: unique symbol;

/** Those that `seal` made. What got their type by a cast, a copy or a parse is not among them. */
const sealedActions = new WeakSet<AuthorizedAction>();

/**
 * A parsed action that a decision allowed. Only `seal` makes one: the brand is not exported, so no effect can be reached
 * with anything else. It carries the bytes that the decision saw.
 */
export type AuthorizedAction = {
  readonly [sealedByGateway]: true;
  readonly kind: "authorized";
  readonly parsed: ParsedAction;
  readonly facts: Facts;
  readonly decision: Decision;
  /** Copy of the canonical arguments at the time of the decision; execute compares them (AT-20). */
  readonly decidedBytes: Uint8Array;
};

/** What the decision did not allow. */
export type WithheldAction = {
  readonly kind: "denied" | "approval_pending";
  readonly parsed: ParsedAction;
  readonly facts: Facts;
  readonly decision: Decision;
};

/** The one maker of an `AuthorizedAction`. */
export function seal(parsed: ParsedAction, facts: Facts, decision: Decision): AuthorizedAction | WithheldAction {
  if (decision.effect === "allow") {
    const decidedBytes = Uint8Array.from(parsed.canonical);
    const action = { kind: "authorized", parsed, facts, decision, decidedBytes } as unknown as AuthorizedAction;
    sealedActions.add(Object.freeze(action));
    return action;
  }
  return { kind: decision.effect === "deny" ? "denied" : "approval_pending", parsed, facts, decision };
}

// INVARIANT: no decision, no effect, whatever the type says (test/gateway/doors.test.ts).
/** Throws a plain `Error` for an action that `seal` did not make. */
export function requireSealed(action: AuthorizedAction): void {
  if (!sealedActions.has(action)) throw new Error("an action that no decision allowed was to be carried out");
}
