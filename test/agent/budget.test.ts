import { expect, test } from "vitest";
import { createBudget, nothingUsed, usedAfter } from "../../src/agent/index.ts";
import { defaultBudget } from "../../src/domain/index.ts";

const minute = 60_000;
const used = { turns: 80, inputTokens: 2_999_000, outputTokens: 1000 };

test("tells the policy what is left, and never less than nothing", () => {
  const atMinute = (minutes: number) => createBudget({ clock: () => minutes * minute }, defaultBudget, 0, 8192);

  expect(atMinute(59.5).leftFor(used)).toEqual({ steps: 20, tokens: 200_000, seconds: 30 });
  expect(atMinute(61).leftFor({ turns: 101, inputTokens: 4e6, outputTokens: 3e5 })).toEqual({
    steps: 0,
    tokens: 0,
    seconds: 0,
  });
});

test("names each limit with 80 % used once, with what is left of it", () => {
  const budget = createBudget({ clock: () => 48 * minute }, defaultBudget, 0, 8192);

  expect(budget.notice(used, [])?.limits).toEqual(["turns", "time", "input_tokens"]);
  expect(budget.notice(used, ["turns", "time"])).toEqual({
    limits: ["input_tokens"],
    text: "Limits: 1000 input tokens left. Bring the work to an end and call finish before nothing is left.",
  });
  expect(budget.notice(nothingUsed, ["time"])).toBeNull();
});

test("counts answers and what was dropped before them", () => {
  const usage = { inputTokens: 10, outputTokens: 2, estimated: false };
  const discarded = { attempts: 1, inputTokens: 5, outputTokens: 1 };

  expect(usedAfter(nothingUsed, { usage, discarded })).toEqual({ turns: 1, inputTokens: 15, outputTokens: 3 });
});
