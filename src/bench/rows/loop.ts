import { alternate } from "../alternate.ts";
import { atMost, equal, exactlyAtMost, type Figure, figure, ratio, type Size } from "../figure.ts";
import { floorLoopOf, type MeasuredLoop, productLoop } from "../measured-loop.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly calls: number }>> = {
  short: { rounds: 1, calls: 3 },
  bench: { rounds: 5, calls: 50 },
  soak: { rounds: 20, calls: 50 },
};

/** ACI-84's first guess. */
const charsPerToken = 3.5;

/** `performance.md` §1: from the end of the model's answer to the arrival of the next request. */
export const loopRow: Row = {
  name: "loop",
  title: "gap and peak memory of a run beside the floors A to D, prompt, prefix",
  measure: async (place, size, signal) => {
    const { rounds, calls } = sizes[size];
    const commands = { tool: "commands", calls } as const;
    const reads = { tool: "reads", calls } as const;
    const loops = await alternate(
      {
        "floor A": () => floorLoopOf(place, "A", commands, signal),
        "floor B": () => floorLoopOf(place, "B", reads, signal),
        read_file: () => productLoop(place, reads, signal),
        "floor C": () => floorLoopOf(place, "C", commands, signal),
        "floor D": () => floorLoopOf(place, "D", commands, signal),
        run_command: () => productLoop(place, commands, signal),
      },
      rounds,
      signal,
    );
    const gaps = (name: keyof typeof loops): number[] => loops[name].map(({ medianGapMs }) => medianGapMs);
    const peaks = (name: keyof typeof loops): number[] => loops[name].map(({ peakMemoryMb }) => peakMemoryMb);
    return [
      ...(Object.keys(loops) as (keyof typeof loops)[]).map((name) => figure(`gap, ${name}`, "ms", gaps(name))),
      ratio("run_command / floor D", gaps("run_command"), gaps("floor D"), atMost(1.4)),
      ratio("run_command / floor C", gaps("run_command"), gaps("floor C")),
      ratio("read_file / floor B", gaps("read_file"), gaps("floor B"), atMost(2.0)),
      figure("peak memory, floor C", "MB", peaks("floor C")),
      figure("peak memory, run", "MB", peaks("run_command")),
      ratio("memory of run / floor C", peaks("run_command"), peaks("floor C"), atMost(2)),
      ...promptFigures([...loops.read_file, ...loops.run_command]),
    ];
  },
};

function promptFigures(ours: readonly MeasuredLoop[]): readonly Figure[] {
  const tokens = ours.map(({ promptChars }) => Math.ceil(promptChars / charsPerToken));
  const extending = ours.map(({ requests, stable }) => (100 * stable) / requests);
  return [
    figure("catalogue and system prompt", "tokens", tokens, exactlyAtMost(2_800)),
    figure("requests that extend the one before", "%", extending, equal(100)),
  ];
}
