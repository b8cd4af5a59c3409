import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { CliDeps } from "./cli-deps.ts";

type BenchOptions = {
  readonly only?: string;
  readonly size: "short" | "bench" | "soak";
  readonly json?: string;
};

export function addBenchCommand(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  program
    .command("bench")
    .description("measure beside floors in the same run; exit code 1 where a figure without time in it does not hold")
    .option("--only <row>", "one row; an unknown name lists them")
    .addOption(
      new Option("--size <size>", "how much is measured; a soak that was stopped goes on where it was")
        .choices(["short", "bench", "soak"])
        .default("bench"),
    )
    .option("--json <file>", "write the figures to a file, besides the table")
    .action(async (options: BenchOptions) => finish(await bench(deps, options)));
}

async function bench(deps: CliDeps, { only, size, json }: BenchOptions): Promise<number> {
  const report = await deps.bench({ only: only ?? null, size, show: deps.terminal.out }, deps.signal);
  if (json !== undefined) await writeFile(resolve(deps.folder, json), `${JSON.stringify(report.json, null, 2)}\n`);
  return report.ok ? 0 : 1;
}
