import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startScriptedModel, writeSampleRepository } from "../../demo/index.ts";
import { alternate } from "../alternate.ts";
import { commandEnvironment, type Observed, observe } from "../child-process.ts";
import { atMost, type Figure, figure, type Size } from "../figure.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 1, bench: 3, soak: 10 };

/** The lines that `run` prints on standard error when a phase begins; the time before the first is the start. */
const phases = ["prepare", "tests before", "work", "tests after", "settle"] as const;

/** Issue 2: the whole job on the sample with the scripted model, in a new service folder and in one that is there. */
export const startRow: Row = {
  name: "start",
  title: "wall time of whole commands: `run` on the sample, cold and warm, and `runs list`",
  measure: async (place, size, signal) => {
    await using model = await startScriptedModel(place.deps);
    const sample = await writeSampleRepository(join(place.folder, "sample"), signal);
    const issueFile = join(place.folder, "sample-issue.md");
    await writeFile(issueFile, sample.issue);
    const runs: { readonly cold: Observed[]; readonly warm: Observed[] } = { cold: [], warm: [] };
    const command = async (round: number, argv: readonly string[]): Promise<Observed> => {
      const home = join(place.folder, `start-${round}`);
      const environment = await commandEnvironment(place, home, { baseUrl: model.baseUrl, name: model.model });
      return observe([place.settings.program, ...argv], { environment, exitCode: 0 }, signal);
    };
    const run = async (round: number, kind: "cold" | "warm"): Promise<number> => {
      const observed = await command(round, ["run", "--repo", sample.folder, "--issue", issueFile]);
      runs[kind].push(observed);
      return observed.wallMs / 1000;
    };
    const measured = await alternate(
      {
        node: async () => (await observe(["--eval", "0"], { environment: {}, exitCode: 0 }, signal)).wallMs / 1000,
        version: async (round) => (await command(round, ["--version"])).wallMs / 1000,
        cold: (round) => run(round, "cold"),
        warm: (round) => run(round, "warm"),
        list: async (round) => (await command(round, ["runs", "list"])).wallMs / 1000,
      },
      sizes[size],
      signal,
    );
    return [
      figure("node, nothing to do", "s", measured.node),
      figure("countersign --version", "s", measured.version),
      figure("countersign runs list", "s", measured.list),
      figure("run on the sample, cold", "s", measured.cold),
      ...phaseFigures("cold", runs.cold),
      figure("run on the sample, warm", "s", measured.warm, atMost(10)),
      ...phaseFigures("warm", runs.warm),
    ];
  },
};

function phaseFigures(kind: string, observed: readonly Observed[]): readonly Figure[] {
  const begins = observed.map(({ lines, wallMs }) => [
    0,
    ...phases.map((phase) => lines.find(({ text }) => text === `-- ${phase}`)?.atMs ?? Number.NaN),
    wallMs,
  ]);
  return ["start", ...phases].map((phase, at) => {
    const times = begins.map((marks) => ((marks[at + 1] ?? Number.NaN) - (marks[at] ?? Number.NaN)) / 1000);
    return figure(`  ${kind}, ${phase}`, "s", times);
  });
}
