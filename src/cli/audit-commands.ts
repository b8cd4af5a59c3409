import type { Command } from "commander";
import { late } from "../domain/index.ts";
import type { CliDeps } from "./cli-deps.ts";
import { addFindCommand } from "./find-command.ts";
import { addResolveCommand } from "./resolve-command.ts";

const show = late(async () => (await import("./audit-show.ts")).show);
const verify = late(async () => (await import("./audit-verify.ts")).verify);
const hash = late(async () => (await import("./audit-hash.ts")).hash);

type JsonOption = { readonly json?: true };

export function addAuditCommands(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  const audit = program.command("audit").description("what was proposed, decided and done, offline");
  audit
    .command("show <id>")
    .description("a run's actions, or one action, or the one of an approval: proposed, decision, states, effect")
    .option("--json", "print one JSON object")
    .action((id: string, options: JsonOption) => show(deps, id, options.json === true));
  addFindCommand(audit, deps, finish);
  addResolveCommand(audit, deps);
  audit
    .command("verify")
    .description("is the ledger whole and unchanged? exit 1 on any finding")
    .option("--checkpoint <file...>", "JSON `{origin, size, rootHash}` kept from earlier: then a cut end is found too")
    .option("--json", "print one JSON object")
    .action(async (options: JsonOption & { readonly checkpoint?: readonly string[] }) =>
      finish(await verify(deps, options.checkpoint ?? [], options.json === true)),
    );
  audit
    .command("hash <file>")
    .description("canonical length of a JSON file (`-`: standard input), and its digest in a run")
    .option("--run <run>", "the run whose `arguments_digest` to compute")
    .option("--json", "print one JSON object")
    .action((file: string, options: JsonOption & { readonly run?: string }) => hash(deps, file, options));
}
