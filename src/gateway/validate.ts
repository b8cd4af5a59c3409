import { isDeepStrictEqual } from "node:util";
import { canonicalBytes, type JsonObject, parseStrictJson, type Refusal } from "../domain/index.ts";
import { contextOf } from "./action-context.ts";
import type { Precondition, Unfinished } from "./action-description.ts";
import { type AuthorizedAction, requireSealed } from "./authorized-action.ts";
import { takeFacts } from "./facts.ts";
import { budgetExceeded, notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { type Effected, type Settlement, settlementOf, worded } from "./settlement.ts";

/** Authorized, and every precondition holds: what execute takes. */
export type ReadyAction = {
  readonly kind: "ready";
  readonly authorized: AuthorizedAction;
  readonly preconditions: readonly Precondition[];
  /** What is known of the effect before it happens; sealed with the intent entry. */
  readonly intent: JsonObject;
  /** The effect; then the words for it. */
  readonly effect: (signal: AbortSignal) => Promise<Effected | Unfinished>;
  /** How a lost answer is settled; null where the checkout is dropped for it. */
  readonly settlement: Settlement | null;
};

type Refused = { readonly kind: "refused"; readonly refusal: Refusal };

/** Takes the facts again and reads what the effect depends on; changes nothing. */
export async function validate(
  run: RunContext,
  authorized: AuthorizedAction,
  signal: AbortSignal,
): Promise<ReadyAction | Refused> {
  requireSealed(authorized);
  const refusal = outdated(authorized) ?? (await changedFacts(run, authorized)) ?? spentBudget(run, authorized);
  if (refusal !== null) return { kind: "refused", refusal };
  const { action } = authorized.parsed;
  const args = decidedArguments(authorized);
  const context = contextOf(run, authorized);
  const settlement = settlementOf(action, context, args);
  const prepared = await action.prepare(context, args, signal);
  switch (prepared.kind) {
    case "refused":
      return prepared;
    case "already_done": {
      const effected = { changeSet: null, evidence: { alreadyApplied: true }, presented: prepared.presented };
      const effect = (): Promise<Effected> => Promise.resolve(effected);
      return { kind: "ready", authorized, preconditions: [], intent: {}, effect, settlement };
    }
    case "ready": {
      const { plan, preconditions, intent } = prepared;
      const effect = async (executeSignal: AbortSignal): Promise<Effected | Unfinished> => {
        const executed = await action.execute(context, plan, executeSignal);
        return "kind" in executed ? executed : worded(action, context, args, executed);
      };
      return { kind: "ready", authorized, preconditions, intent, effect, settlement };
    }
  }
}

const callOf = ({ parsed }: AuthorizedAction) => ({ tool: parsed.proposed.tool, arguments: parsed.arguments });

// INVARIANT: what is executed is what the decision saw (test/gateway/perform.test.ts).
function outdated(authorized: AuthorizedAction): Refusal | null {
  const isSame = Buffer.from(authorized.decidedBytes).equals(canonicalBytes(authorized.parsed.arguments));
  return isSame ? null : notExecuted(callOf(authorized), "the arguments changed after the decision");
}

async function changedFacts(run: RunContext, authorized: AuthorizedAction): Promise<Refusal | null> {
  const facts = await takeFacts(run, authorized.parsed);
  if (facts.kind === "refused") return facts.refusal;
  if (isDeepStrictEqual(facts, authorized.facts)) return null;
  return notExecuted(callOf(authorized), "a path leads elsewhere than when it was decided on");
}

/** A run that has used up its time still tells GitHub so. */
function spentBudget(run: RunContext, { parsed }: AuthorizedAction): Refusal | null {
  if (run.budgetLeft().seconds > 0 || parsed.action.place === "github") return null;
  return budgetExceeded("seconds of the run", { limit: 0, used: 0, asked: 1 }, null);
}

/** The tool gets a copy made from the bytes that were decided on: it can't add to what is recorded (AUD-83). */
function decidedArguments({ decidedBytes }: AuthorizedAction): JsonObject {
  const read = parseStrictJson(decidedBytes);
  if (read.kind === "refused") throw new Error(`canonical arguments that the gate refuses: \`${read.code}\``);
  return read.value as JsonObject;
}
