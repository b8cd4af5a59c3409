import { resolve } from "node:path";
import type { Command } from "commander";
import { late } from "../domain/index.ts";
import type { CliDeps } from "./cli-deps.ts";
import { sinceForms } from "./since.ts";

const check = late(async () => (await import("./policy-check.ts")).check);
const test = late(async () => (await import("./policy-check.ts")).test);
const explain = late(async () => (await import("./policy-replay.ts")).explain);
const replay = late(async () => (await import("./policy-replay.ts")).replay);

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

function addReplayCommands(policy: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  policy
    .command("explain <action>")
    .description(
      "make the recorded decision on an action again, and say by which policies; exit 1 if the answer is another",
    )
    .option("--json", "print one JSON object")
    .action(async (action: string, options: JsonOption) => finish(await explain(deps, action, options.json === true)));
  policy
    .command("replay")
    .description("make all recorded decisions again; exit 1 if one has another answer")
    .requiredOption("--since <time>", `decided since: ${sinceForms}`)
    .option("--with <folder>", "show instead which decisions the policies of this folder would change")
    .option("--json", "print one JSON object")
    .action(async (options: JsonOption & { readonly since: string; readonly with?: string }) =>
      finish(await replay(deps, options)),
    );
}
