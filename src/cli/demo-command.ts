import { once } from "node:events";
import type { Command } from "commander";
import type { CliDeps, DemoEvent } from "./cli-deps.ts";
import { printJson } from "./cli-deps.ts";
import { demoJson, demoText, keptText, nextText } from "./demo-view.ts";
import { createProgress } from "./progress.ts";
import { inLine } from "./terminal.ts";

type DemoOptions = { readonly json?: true; readonly keep?: true; readonly real?: true };

export function addDemoCommand(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  program
    .command("demo")
    .description("see the whole job on this machine: a labelled issue becomes a pull request on a local GitHub")
    .option("--json", "print one JSON object at the end, and nothing else on standard output")
    .option("--keep", "leave everything running until Ctrl-C, and the record behind")
    .option("--real", "ask the model of OPENAI_MODEL; without it a real model is used where OPENAI_* name one")
    .action(async (options: DemoOptions) => finish(await demo(deps, options)));
}

async function demo(deps: CliDeps, options: DemoOptions): Promise<number> {
  const exitCode = await show(deps, options);
  if (options.keep) deps.terminal.err("stopped\n");
  return exitCode;
}

/** Nothing runs any more when it answers. */
async function show(deps: CliDeps, { json, keep, real }: DemoOptions): Promise<number> {
  const { terminal } = deps;
  await using shown = await deps.demo({ isReal: real === true }, createView(deps));
  const kept = keep ? await shown.keep() : null;
  if (json) printJson(terminal, demoJson(shown, kept !== null));
  else terminal.out(demoText(shown) + nextText(shown, kept));
  if (kept !== null) {
    terminal.err(keptText(shown, kept));
    if (!deps.signal.aborted) await once(deps.signal, "abort");
  }
  return shown.hasSucceeded ? 0 : 1;
}

/** The steps of the demonstration between those of its run. */
function createView({ terminal, clock }: CliDeps): (event: DemoEvent) => void {
  const progress = createProgress(terminal, clock);
  return (event) => {
    if (event.kind === "step") terminal.err(`${inLine(event.text)}\n`);
    else progress(event);
  };
}
