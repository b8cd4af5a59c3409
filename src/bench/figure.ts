import { assertNever, type JsonObject } from "../domain/index.ts";

/** How much is measured: a test of the mechanism, minutes, or the size that the design states. */
export type Size = "short" | "bench" | "soak";

/** What a figure should be. `isExact` where nothing of the machine is in it, so that a miss is a fault. */
export type Goal = {
  readonly kind: "at_most" | "at_least" | "equal";
  readonly value: number;
  readonly isExact: boolean;
};

/** One measured quantity over its samples. `unit` is `x` for a ratio to a floor measured in the same run. */
export type Figure = {
  readonly name: string;
  readonly unit: "x" | "ms" | "us" | "s" | "MB" | "MB/s" | "tokens" | "%" | "lines" | "1/s" | "calls" | "deliveries";
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
  readonly goal: Goal | null;
};

export const atMost = (value: number): Goal => ({ kind: "at_most", value, isExact: false });
export const atLeast = (value: number): Goal => ({ kind: "at_least", value, isExact: false });
export const exactlyAtMost = (value: number): Goal => ({ kind: "at_most", value, isExact: true });
export const equal = (value: number): Goal => ({ kind: "equal", value, isExact: true });

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The value that `share` of the samples do not pass. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function figure(
  name: string,
  unit: Figure["unit"],
  values: readonly number[],
  goal: Goal | null = null,
): Figure {
  const min = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const max = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return { name, unit, median: median(values), min, max, samples: values.length, goal };
}

/** Product over floor, round by round: what slows the machine down for a while slows both. */
export function ratio(
  name: string,
  product: readonly number[],
  floor: readonly number[],
  goal: Goal | null = null,
): Figure {
  return figure(
    name,
    "x",
    product.map((value, round) => value / (floor[round] ?? Number.NaN)),
    goal,
  );
}

export function isMet({ median: value, goal }: Figure): boolean | null {
  if (goal === null) return null;
  switch (goal.kind) {
    case "at_most":
      return value <= goal.value;
    case "at_least":
      return value >= goal.value;
    case "equal":
      return value === goal.value;
    default:
      return assertNever(goal.kind);
  }
}

export const figureJson = (one: Figure): JsonObject => ({ ...one, goal: one.goal && { ...one.goal }, met: isMet(one) });
