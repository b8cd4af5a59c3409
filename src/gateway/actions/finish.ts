import { z } from "zod";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { nothingChanged } from "../refusals.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { resultText } from "../result-text.ts";

const name = "finish";

const Arguments = z.strictObject({ summary: z.string().min(1).max(4_000), title: z.string().min(1).max(72) });
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly hasNothingToDo: boolean };
type Facts = Plan;

/** Ends the proposing; nothing is published by it (ACI-31). The record's `nothing_to_do` is the run's stop reason. */
export const finishAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description:
    "Ends the work when the change is complete and its tests were run. title: at most 72 characters, for the pull request. summary: at most 4,000 characters: what was wrong, what was changed, what is left. Calls after it in the same turn are not executed. Without any change it asks once whether that is meant.",
  reason: "A definite end that is a call, not a phrase in a text.",
  group: "read",
  risk: "SAFE",
  capabilities: [],
  place: "host",
  semanticFields: ["summary", "title"],
  Arguments,
  Record: recordSchema({ title: z.string(), summary: z.string(), nothing_to_do: z.boolean() }),
  effects: () => [{ kind: "finish" }],
  prepare,
  execute: (_context, plan): Promise<Executed<Facts>> =>
    Promise.resolve({ facts: plan, changeSet: null, evidence: { nothing_to_do: plan.hasNothingToDo } }),
  present,
};

function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const hasNothingToDo = context.fingerprints.isUnchanged(context.workspace.base.entries);
  const isAsked = hasNothingToDo && !context.fingerprints.wasAsked("finish without a change");
  return Promise.resolve(
    isAsked
      ? { kind: "refused", refusal: nothingChanged({ tool: name, arguments: args }) }
      : { kind: "ready", plan: { hasNothingToDo }, preconditions: [], intent: {} },
  );
}

function present(_context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const essentials = facts.hasNothingToDo
    ? "the run ends without a change"
    : "the run ends; the host now verifies the change";
  const record = { ...wholeBody(0, 0), title: args.title, summary: args.summary, nothing_to_do: facts.hasNothingToDo };
  return { status: "ok", text: resultText("ok", essentials, []), record, refusal: null };
}
