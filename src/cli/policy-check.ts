import { createCatalogue } from "../gateway/index.ts";
import { loadOperatorSettings, reachOf, readPolicyCases, runPolicyCases } from "../policy/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { loadSet } from "./load-set.ts";
import { casesJson, casesText, reachJson, reachText } from "./policy-view.ts";
import { plain } from "./terminal.ts";

export async function check(deps: CliDeps, folder: string, isJson: boolean): Promise<number> {
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

export async function test(deps: CliDeps, folder: string, isJson: boolean): Promise<number> {
  const engine = await loadSet(deps, folder);
  const cases = await readPolicyCases(folder);
  const report = runPolicyCases(engine, cases);
  if (isJson) printJson(deps.terminal, casesJson(cases, report));
  else deps.terminal.out(plain(casesText(cases, report)));
  return report.differences.length === 0 ? 0 : 1;
}
