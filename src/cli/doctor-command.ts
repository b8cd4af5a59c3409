import type { Command } from "commander";
import { type Check, type CliDeps, type ExaminedPart, printJson } from "./cli-deps.ts";
import { plain } from "./terminal.ts";

type DoctorOptions = { readonly sandbox?: true; readonly model?: true; readonly github?: true; readonly json?: true };

export function addDoctorCommand(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  program
    .command("doctor")
    .description("try each part for real and say what to mend")
    .option("--sandbox", "only the sandbox: each barrier, from inside")
    .option("--model", "only the model server: one small completion with a tool call")
    .option("--github", "only GitHub: the App's credentials, its permissions and events, its webhook")
    .option("--json", "print one JSON object")
    .action(async (options: DoctorOptions) => finish(await doctor(deps, options)));
}

async function doctor(deps: CliDeps, { sandbox, model, github, json }: DoctorOptions): Promise<number> {
  const named = new Map<ExaminedPart, true | undefined>([
    ["sandbox", sandbox],
    ["model", model],
    ["github", github],
  ]);
  const parts = [...named.keys()].filter((part) => named.get(part));
  const checks = await deps.examine(new Set<ExaminedPart>(parts.length === 0 ? ["all"] : parts), deps.signal);
  const ok = checks.every((check) => check.ok);
  if (json) printJson(deps.terminal, { ok, checks: checks.map((check) => ({ ...check })) });
  else printChecks(deps, checks);
  return ok ? 0 : 1;
}

function printChecks({ terminal }: CliDeps, checks: readonly Check[]): void {
  for (const { ok, name, detail, remedy } of checks) {
    const part = name.replaceAll("_", " ");
    terminal.out(plain(`${ok ? "ok    " : "FAILED"}  ${part}: ${detail === "" ? "holds" : detail}\n`));
    if (!ok) terminal.out(plain(`        -> ${remedy}\n`));
  }
  const failedCount = checks.filter((check) => !check.ok).length;
  terminal.out(failedCount === 0 ? "everything works\n" : `to mend: ${failedCount} of ${checks.length} parts\n`);
}
