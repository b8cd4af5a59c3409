import type { JsonObject } from "../domain/index.ts";
import type { ActionContext, Executed, GithubContext, Presented } from "./action-description.ts";
import type { AnyAction } from "./catalogue.ts";

/** What an effect came to, in the words of its action. */
export type Effected = Pick<Executed<unknown>, "changeSet" | "evidence"> & { readonly presented: Presented };

/** What a look told, in the words of the action. */
export type LookedAt =
  | { readonly kind: "applied"; readonly effected: Effected }
  | { readonly kind: "not_applied"; readonly evidence: JsonObject }
  | { readonly kind: "inconclusive"; readonly evidence: JsonObject };

/** How one action is settled once its answer is lost; made from its arguments alone. */
export type Settlement = {
  readonly recipe: string;
  readonly precondition: string;
  readonly naturalKey: string;
  readonly expectedSha: string | null;
  readonly deadlineMs: number;
  /** One round. `sinceIso` is the time of the intent. */
  readonly look: (sinceIso: string, signal: AbortSignal) => Promise<LookedAt>;
};

/** Null for what is done in the checkout: there a lost outcome is settled by dropping the checkout (AUD-66). */
export function settlementOf(
  action: AnyAction,
  context: ActionContext | GithubContext,
  args: JsonObject,
): Settlement | null {
  const { reconciliation } = action;
  if (reconciliation === undefined) return null;
  return {
    recipe: reconciliation.recipe,
    precondition: reconciliation.precondition,
    naturalKey: reconciliation.naturalKey(context, args),
    expectedSha: reconciliation.expectedSha(args),
    deadlineMs: reconciliation.deadlineMs,
    look: async (sinceIso, signal) => {
      const looked = await reconciliation.look(context, args, sinceIso, signal);
      return looked.kind === "applied"
        ? { kind: "applied", effected: worded(action, context, args, looked.executed) }
        : looked;
    },
  };
}

/** The effect with the action's words for it. */
export function worded(
  action: AnyAction,
  context: ActionContext | GithubContext,
  args: JsonObject,
  executed: Executed<unknown>,
): Effected {
  const { changeSet, evidence } = executed;
  return { changeSet, evidence, presented: action.present(context, args, executed) };
}
