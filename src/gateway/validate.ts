import { canonicalBytes, type JsonObject, type Refusal } from "../domain/index.ts";
import type { ActionContext, Executed, Precondition, Presented } from "./action-description.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import { budgetExceeded, notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";

/** Authorized, and every precondition holds: what execute takes. */
export type ReadyAction = {
  readonly kind: "ready";
  readonly authorized: AuthorizedAction;
  readonly preconditions: readonly Precondition[];
  /** What is known of the effect before it happens, for the intent entry. */
  readonly intent: JsonObject;
  /** The effect; then the words for it. */
  readonly effect: (signal: AbortSignal) => Promise<Effected>;
};

export type Effected = Pick<Executed<unknown>, "changeSet" | "evidence"> & { readonly presented: Presented };

/** Takes the facts again and reads what the effect depends on; changes nothing. */
export async function validate(
  run: RunContext,
  authorized: AuthorizedAction,
  signal: AbortSignal,
): Promise<ReadyAction | { readonly kind: "refused"; readonly refusal: Refusal }> {
  const { action, proposed, arguments: args } = authorized.parsed;
  const call = { tool: proposed.tool, arguments: args };
  // INVARIANT: what is executed is what the decision saw (test/gateway/perform.test.ts).
  if (!Buffer.from(authorized.decidedBytes).equals(canonicalBytes(args))) {
    return { kind: "refused", refusal: notExecuted(call, "the arguments changed after the decision") };
  }
  const left = run.budgetLeft();
  if (left.seconds <= 0) {
    const amounts = { limit: 0, used: 0, asked: 1 };
    return { kind: "refused", refusal: budgetExceeded("seconds of the run", amounts, null) };
  }
  const context = contextOf(run, authorized, left.seconds);
  const prepared = await action.prepare(context, args, signal);
  switch (prepared.kind) {
    case "refused":
      return prepared;
    case "already_done": {
      const effected = { changeSet: null, evidence: { alreadyApplied: true }, presented: prepared.presented };
      return { kind: "ready", authorized, preconditions: [], intent: {}, effect: () => Promise.resolve(effected) };
    }
    case "ready": {
      const { plan, preconditions, intent } = prepared;
      const effect = async (executeSignal: AbortSignal): Promise<Effected> => {
        const executed = await action.execute(context, plan, executeSignal);
        const { changeSet, evidence } = executed;
        return { changeSet, evidence, presented: action.present(context, args, executed) };
      };
      return { kind: "ready", authorized, preconditions, intent, effect };
    }
  }
}

function contextOf(run: RunContext, { facts, parsed }: AuthorizedAction, leftSeconds: number): ActionContext {
  return {
    workspace: run.workspace,
    fingerprints: run.fingerprints,
    pages: run.pages,
    paths: facts.paths,
    settings: run.settings,
    turn: parsed.proposed.call?.turn ?? 0,
    actionId: parsed.proposed.actionId,
    leftMs: leftSeconds * 1000,
  };
}
