import { resolve } from "node:path";
import type { Command } from "commander";
import { createCatalogue } from "../gateway/index.ts";
import { loadOperatorSettings, reachOf, readPolicyCases, runPolicyCases } from "../policy/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { loadSet } from "./load-set.ts";
import { addReplayCommands } from "./policy-replay.ts";
import { casesJson, casesText, reachJson, reachText } from "./policy-view.ts";
import { plain } from "./terminal.ts";

type JsonOption = { readonly json?: true };

export function addPolicyCommands(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  const policy = program
    .command("policy")
    .description("what the policies allow, and whether they still decide as they did");
  policy
    .command("check [folder]")
    .description(
      "is the set valid, and what can a run reach in several steps? exit 1 on a way round that no policy accepts",
    )
    .option("--json", "print one JSON object")
    .action(async (folder: string | undefined, options: JsonOption) =>
      finish(await check(deps, folderOf(deps, folder), options.json === true)),
    );
  policy
    .command("test [folder]")
    .description("do the cases in `tests/*.json` hold? exit 1 on the first that does not")
    .option("--json", "print one JSON object")
    .action(async (folder: string | undefined, options: JsonOption) =>
      finish(await test(deps, folderOf(deps, folder), options.json === true)),
    );
  addReplayCommands(policy, deps, finish);
}

const folderOf = (deps: CliDeps, folder: string | undefined): string =>
  folder === undefined ? deps.policiesFolder : resolve(deps.folder, folder);

async function check(deps: CliDeps, folder: string, isJson: boolean): Promise<number> {
  const engine = await loadSet(deps, folder);
  await loadOperatorSettings(folder);
  const reach = reachOf(engine, [...createCatalogue().values()]);
  if (isJson) printJson(deps.terminal, reachJson(engine, reach));
  else
    deps.terminal.out(
      plain(`${engine.policyIds.length} policies in ${folder}, ${engine.engineVersion}\n${reachText(reach)}`),
    );
  return reach.detours.some(({ acceptedBy }) => acceptedBy === null) ? 1 : 0;
}

async function test(deps: CliDeps, folder: string, isJson: boolean): Promise<number> {
  const engine = await loadSet(deps, folder);
  const cases = await readPolicyCases(folder);
  const report = runPolicyCases(engine, cases);
  if (isJson) printJson(deps.terminal, casesJson(cases, report));
  else deps.terminal.out(plain(casesText(cases, report)));
  return report.differences.length === 0 ? 0 : 1;
}
