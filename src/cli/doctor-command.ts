import type { Command } from "commander";
import { type CliDeps, type ExaminedPart, printJson } from "./cli-deps.ts";
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

async function doctor(deps: CliDeps, options: DoctorOptions): Promise<number> {
  const parts = new Set<ExaminedPart>();
  if (options.sandbox) parts.add("sandbox");
  if (options.model) parts.add("model");
  if (options.github) parts.add("github");
  if (parts.size === 0) parts.add("all");
  const checks = await deps.examine(parts, deps.signal);
  const ok = checks.every((check) => check.ok);
  if (options.json) {
    printJson(deps.terminal, { ok, checks: checks.map((check) => ({ ...check })) });
    return ok ? 0 : 1;
  }
  for (const { ok: holds, name, detail, remedy } of checks) {
    const part = name.replaceAll("_", " ");
    deps.terminal.out(plain(`${holds ? "ok    " : "FAILED"}  ${part}: ${detail === "" ? "holds" : detail}\n`));
    if (!holds) deps.terminal.out(plain(`        -> ${remedy}\n`));
  }
  const failedCount = checks.filter((check) => !check.ok).length;
  deps.terminal.out(ok ? "everything works\n" : `to mend: ${failedCount} of ${checks.length} parts\n`);
  return ok ? 0 : 1;
}
