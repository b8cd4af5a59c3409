import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { CliDeps } from "./cli-deps.ts";

export function addSchemasCommand(program: Command, deps: CliDeps): void {
  program
    .command("schemas")
    .description("write the JSON schemas of all tools to `tools_schemas/`")
    .action(async () => {
      const schemas = await deps.toolSchemas();
      await mkdir(deps.schemasFolder, { recursive: true });
      for (const [name, text] of schemas) await writeFile(join(deps.schemasFolder, name), text);
      deps.terminal.out(`${schemas.size} schemas written to ${deps.schemasFolder}\n`);
    });
}
