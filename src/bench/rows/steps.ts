import { atMost, figure, median, ratio, type Size } from "../figure.ts";
import { productLoop } from "../measured-loop.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly steps: number }>> = {
  short: { rounds: 1, steps: 20 },
  bench: { rounds: 2, steps: 500 },
  soak: { rounds: 5, steps: 500 },
};

/** Steps around the one that is meant: a single gap is mostly noise. */
const window = 8;

/** `performance.md` §1: a step late in a run costs what an early one does. */
export const stepsRow: Row = {
  name: "steps",
  title: "gap late in a run beside the gap early in it",
  measure: async (place, size, signal) => {
    const { rounds, steps } = sizes[size];
    const early: number[] = [];
    const late: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { gaps } = await productLoop(place, { tool: "commands", calls: steps }, signal);
      const commands = gaps.flatMap(({ tool, gapMs }) => (tool === "run_command" ? [gapMs] : []));
      early.push(median(commands.slice(1, 1 + window)));
      late.push(median(commands.slice(-window)));
    }
    return [
      figure("gap around step 5", "ms", early),
      figure(`gap around step ${steps}`, "ms", late),
      ratio(`step ${steps} / step 5`, late, early, atMost(1.1)),
    ];
  },
};
