import { join } from "node:path";
import { observe } from "../child-process.ts";
import { atMost, figure, type Size } from "../figure.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 1, bench: 3, soak: 10 };

type Phase = { readonly name: string; readonly duration_ms: number };
type Shown = { readonly phases: readonly Phase[] };

/** Issue 3: the whole demonstration, as a new user starts it after the installation. */
export const demoRow: Row = {
  name: "demo",
  title: "wall time of `countersign demo`, by phases",
  measure: async ({ folder, settings }, size, signal) => {
    const { program, policiesFolder, runUids } = settings;
    const environment = {
      COUNTERSIGN_HOME: join(folder, "demo"),
      COUNTERSIGN_POLICIES: policiesFolder,
      ...(runUids === null ? {} : { COUNTERSIGN_RUN_UIDS: runUids }),
    };
    const wall: number[] = [];
    const phases = new Map<string, number[]>();
    for (let round = 0; round < sizes[size]; round += 1) {
      const { wallMs, output } = await observe([program, "demo", "--json"], { environment, exitCode: 0 }, signal);
      wall.push(wallMs / 1000);
      for (const [name, ms] of partsOf(wallMs, JSON.parse(output) as Shown)) {
        phases.set(name, [...(phases.get(name) ?? []), ms / 1000]);
      }
    }
    return [
      figure("demo", "s", wall, atMost(20)),
      ...[...phases].map(([name, seconds]) => figure(`  ${name}`, "s", seconds)),
    ];
  },
};

/** What it says itself, where a phase may come more than once, and what is left of the time of its process. */
function partsOf(wallMs: number, { phases }: Shown): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  for (const { name, duration_ms: ms } of phases) parts.set(name, (parts.get(name) ?? 0) + ms);
  const told = [...parts.values()].reduce((sum, ms) => sum + ms, 0);
  return parts.set("loading, checks, end", wallMs - told);
}
