import type { Decision } from "../domain/index.ts";
import type { Facts } from "./facts.ts";
import type { ParsedAction } from "./parse.ts";

declare const sealedByGateway: unique symbol;

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
    return { kind: "authorized", parsed, facts, decision, decidedBytes } as unknown as AuthorizedAction;
  }
  return { kind: decision.effect === "deny" ? "denied" : "approval_pending", parsed, facts, decision };
}
