import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { modelTools } from "../gateway/index.ts";
import type { BenchPlace } from "./bench-place.ts";
import { commandEnvironment, observe } from "./child-process.ts";
import { median } from "./figure.ts";
import type { FloorPlan } from "./floor-plan.ts";
import { modelName, type ScriptedTool } from "./model-script.ts";
import type { Served } from "./model-server.ts";

/** What a loop's process was like from outside. */
export type MeasuredLoop = Served & { readonly peakMemoryMb: number; readonly medianGapMs: number };

const floorProcess = fileURLToPath(new URL("floor-process.ts", import.meta.url));

/** The floors of `performance.md` §1: commits a call, and what a command is. */
const floors = {
  A: { commits: 0, command: "function" },
  B: { commits: 2, command: "function" },
  C: { commits: 2, command: "bash" },
  D: { commits: 3, command: "bubblewrap" },
} as const;

/** One loop of a floor in a process of its own. */
export async function floorLoopOf(
  place: BenchPlace,
  floor: keyof typeof floors,
  { tool, calls }: { readonly tool: ScriptedTool; readonly calls: number },
  signal: AbortSignal,
): Promise<MeasuredLoop> {
  const { commits, command } = floors[floor];
  const plan: FloorPlan = {
    baseUrl: (await place.server()).baseUrl,
    model: modelName(tool, calls),
    tools: modelTools((await place.runs()).catalogue),
    databaseUrl: (await place.database()).url,
    commits,
    command: await commandOf(place, command),
  };
  const path = join(place.folder, "floor.json");
  await writeFile(path, JSON.stringify(plan), { mode: 0o600 });
  return measure(place, { tool, calls }, async () => observe([floorProcess, path], noEnvironment, signal));
}

const noEnvironment = { environment: {}, exitCode: 0 };

async function commandOf(
  place: BenchPlace,
  command: (typeof floors)[keyof typeof floors]["command"],
): Promise<FloorPlan["command"]> {
  if (command === "function") return null;
  return command === "bash" ? { prefix: [], owner: null } : await place.sandbox();
}

/** The same loop by the product: one whole `countersign run`. It changes nothing, and so ends with 1. */
export async function productLoop(
  place: BenchPlace,
  script: { readonly tool: ScriptedTool; readonly calls: number },
  signal: AbortSignal,
): Promise<MeasuredLoop> {
  const { baseUrl } = await place.server();
  const { database, settings, folder, home } = place;
  await database(); // the server is there already: what is measured is the loop
  const issueFile = join(folder, "issue.md");
  await writeFile(issueFile, "Measure\n");
  const environment = await commandEnvironment(place, home, { baseUrl, name: modelName(script.tool, script.calls) });
  const argv = [settings.program, "run", "--repo", await place.repository(), "--issue", issueFile];
  return measure(place, script, () => observe(argv, { environment, exitCode: 1 }, signal));
}

const toolOf = { commands: "run_command", reads: "read_file" } as const;

async function measure(
  place: BenchPlace,
  { tool, calls }: { readonly tool: ScriptedTool; readonly calls: number },
  loop: () => Promise<{ readonly peakMemoryMb: number }>,
): Promise<MeasuredLoop> {
  const server = await place.server();
  await server.take();
  const { peakMemoryMb } = await loop();
  const served = await server.take();
  if (served.requests <= calls) throw new Error(`a measured loop ended after ${served.requests} requests`);
  const gaps = served.gaps.filter((gap) => gap.tool === toolOf[tool]).map(({ gapMs }) => gapMs);
  return { ...served, peakMemoryMb, medianGapMs: median(gaps) };
}
