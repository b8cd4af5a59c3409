/** What a run may use at most (ACI-66). */
export type Budget = {
  readonly turns: number;
  readonly minutes: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
};

export const defaultBudget: Budget = { turns: 100, minutes: 60, inputTokens: 3_000_000, outputTokens: 200_000 };

/** What is left of it, as the policy sees it. */
export type BudgetLeft = { readonly steps: number; readonly tokens: number; readonly seconds: number };
