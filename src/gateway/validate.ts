import { isDeepStrictEqual } from "node:util";
import { canonicalBytes, type JsonObject, parseStrictJson, type Refusal } from "../domain/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { ActionContext, Executed, Precondition, Presented } from "./action-description.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import { takeFacts } from "./facts.ts";
import { budgetExceeded, notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";

/** Authorized, and every precondition holds: what execute takes. */
export type ReadyAction = {
  readonly kind: "ready";
  readonly authorized: AuthorizedAction;
  readonly preconditions: readonly Precondition[];
  /** What is known of the effect before it happens; sealed with the intent entry. */
  readonly intent: JsonObject;
  /** The effect; then the words for it. */
  readonly effect: (signal: AbortSignal) => Promise<Effected>;
};

export type Effected = Pick<Executed<unknown>, "changeSet" | "evidence"> & { readonly presented: Presented };

type Refused = { readonly kind: "refused"; readonly refusal: Refusal };

/** Takes the facts again and reads what the effect depends on; changes nothing. */
export async function validate(
  run: RunContext,
  authorized: AuthorizedAction,
  signal: AbortSignal,
): Promise<ReadyAction | Refused> {
  const refusal = outdated(authorized) ?? (await changedFacts(run, authorized)) ?? spentBudget(run);
  if (refusal !== null) return { kind: "refused", refusal };
  const { action } = authorized.parsed;
  const args = decidedArguments(authorized);
  const context = contextOf(run, authorized);
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

function spentBudget(run: RunContext): Refusal | null {
  if (run.budgetLeft().seconds > 0) return null;
  return budgetExceeded("seconds of the run", { limit: 0, used: 0, asked: 1 }, null);
}

/** The tool gets a copy made from the bytes that were decided on: it can't add to what is recorded (AUD-83). */
function decidedArguments({ decidedBytes }: AuthorizedAction): JsonObject {
  const read = parseStrictJson(decidedBytes);
  if (read.kind === "refused") throw new Error(`canonical arguments that the gate refuses: \`${read.code}\``);
  return read.value as JsonObject;
}

function contextOf(run: RunContext, authorized: AuthorizedAction): ActionContext {
  const { facts, parsed } = authorized;
  return {
    workspace: pinned(run.workspace, authorized),
    fingerprints: run.fingerprints,
    pages: run.pages,
    paths: facts.paths,
    settings: run.settings,
    turn: parsed.proposed.call?.turn ?? 0,
    actionId: parsed.proposed.actionId,
    leftMs: run.budgetLeft().seconds * 1000,
  };
}

/** The hands, with each decided path leading where it led at the decision: a link changed since then leads nowhere else. */
function pinned(workspace: Workspace, { facts }: AuthorizedAction): Workspace {
  const places = new Map(facts.paths.map(({ kind: _effect, ...place }) => [place.requested, place]));
  const resolve: Workspace["resolve"] = (path) => {
    const place = places.get(path);
    return place === undefined ? workspace.resolve(path) : Promise.resolve({ kind: "inside", ...place });
  };
  return { ...workspace, resolve };
}
