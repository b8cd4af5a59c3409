import type { Budget, BudgetLeft, Clock } from "../domain/index.ts";
import { estimateTokens } from "./context.ts";
import type { Conversation, Used } from "./conversation.ts";
import type { Limit } from "./turn.ts";

export type BudgetAnswer = { readonly kind: "left" } | { readonly kind: "exhausted"; readonly limit: Limit };

export type RunBudget = {
  /** Asked before a model call: its estimated input and the reserved output must fit what is left. */
  readonly left: (conversation: Conversation) => BudgetAnswer;
  /** Limits used by 80 % or more that are not among `noticed`, and what to tell the model of them; null if none is new. */
  readonly notice: (
    used: Used,
    noticed: readonly Limit[],
  ) => { readonly limits: readonly Limit[]; readonly text: string } | null;
  /** As the policy sees it. */
  readonly leftFor: (used: Used) => BudgetLeft;
};

const limits: readonly Limit[] = ["turns", "time", "input_tokens", "output_tokens"];
/** ACI-66. */
const noticeShare = 0.8;

/**
 * The limits of one run (ACI-66). `startedAt` in milliseconds since 1970, `reservedOutputTokens` is what each model call
 * may write at most.
 */
export function createBudget(
  deps: { readonly clock: Clock },
  budget: Budget,
  startedAt: number,
  reservedOutputTokens: number,
): RunBudget {
  const allowed = inLimits(budget, budget.minutes);
  const usedBy = (used: Used): Amounts => inLimits(used, (deps.clock() - startedAt) / 60_000);
  return {
    left: (conversation) => {
      const used = usedBy(conversation.used);
      const asked = inLimits(
        { turns: 1, inputTokens: estimateTokens(conversation), outputTokens: reservedOutputTokens },
        0,
      );
      const limit = limits.find((name) => used[name] + asked[name] > allowed[name] || used[name] >= allowed[name]);
      return limit === undefined ? { kind: "left" } : { kind: "exhausted", limit };
    },
    notice: (usedSoFar, noticed) => {
      const used = usedBy(usedSoFar);
      const reached = limits.filter((name) => !noticed.includes(name) && used[name] >= noticeShare * allowed[name]);
      if (reached.length === 0) return null;
      const left = reached.map((name) => describe(name, Math.max(0, Math.floor(allowed[name] - used[name]))));
      const text = `Limits: ${left.join(", ")} left. Bring the work to an end and call finish before nothing is left.`;
      return { limits: reached, text };
    },
    leftFor: (usedSoFar) => {
      const used = usedBy(usedSoFar);
      const left = (name: Limit): number => Math.max(0, allowed[name] - used[name]);
      const tokens = left("input_tokens") + left("output_tokens");
      return { steps: left("turns"), tokens, seconds: Math.floor(left("time") * 60) };
    },
  };
}

type Amounts = Readonly<Record<Limit, number>>;

function inLimits(amounts: Used, minutes: number): Amounts {
  const { turns, inputTokens, outputTokens } = amounts;
  return { turns, time: minutes, input_tokens: inputTokens, output_tokens: outputTokens };
}

const unitOf: Readonly<Record<Limit, string>> = {
  turns: "turns",
  time: "minutes",
  input_tokens: "input tokens",
  output_tokens: "output tokens",
};

const describe = (limit: Limit, left: number): string => `${left} ${unitOf[limit]}`;
