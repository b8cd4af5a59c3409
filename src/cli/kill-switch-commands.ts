import type { Command } from "commander";
import { late } from "../domain/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { plain } from "./terminal.ts";

const pause = late(async () => (await import("../run/index.ts")).pause);
const resume = late(async () => (await import("../run/index.ts")).resume);

type JsonOption = { readonly json?: true };

/** The operator's kill switch (SEC-5): for every process on the database, whatever it is doing. */
export function addKillSwitchCommands(program: Command, deps: CliDeps): void {
  program
    .command("pause")
    .description("the kill switch: no run starts, and those under way are cancelled before their next action")
    .option("--json", "print one JSON object")
    .action(({ json }: JsonOption) => pauseAll(deps, json === true));
  program
    .command("resume")
    .description("end the pause: what waits in the queue is taken up; what was cancelled stays so")
    .option("--json", "print one JSON object")
    .action(({ json }: JsonOption) => resumeAll(deps, json === true));
}

async function pauseAll(deps: CliDeps, isJson: boolean): Promise<void> {
  await using records = await deps.openRecords();
  const { isNew, since, stopped } = await pause({ ...records, ...deps });
  if (isJson) return printJson(deps.terminal, { paused: true, since, stopped });
  const lines = [
    isNew ? "paused: no run and no action starts" : `was paused already, since ${since}`,
    ...stopped.map((runId) => `run ${runId} is being cancelled`),
    "`countersign resume` ends it",
  ];
  deps.terminal.out(plain(`${lines.join("\n")}\n`));
}

async function resumeAll(deps: CliDeps, isJson: boolean): Promise<void> {
  await using records = await deps.openRecords();
  const { isNew, since } = await resume({ ...records, ...deps });
  if (isJson) return printJson(deps.terminal, { paused: false, since });
  deps.terminal.out(isNew ? "resumed: runs start again\n" : "was not paused\n");
}
