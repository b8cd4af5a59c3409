import type { JsonObject } from "../../src/domain/index.ts";

type Sample = { readonly needed: JsonObject; readonly optional: JsonObject };

const samples: Readonly<Record<string, Sample>> = {
  read_file: { needed: { path: "src/a.ts" }, optional: { line_from: 2, line_count: 10 } },
  search_text: { needed: { pattern: "TODO" }, optional: { path: "src", include: "*.ts", context_lines: 2 } },
  find_files: { needed: { glob: "**/*.ts" }, optional: { path: "src" } },
  edit_file: { needed: { path: "src/a.ts", edits: [{ anchor: "a", replacement: "b" }] }, optional: {} },
  create_file: { needed: { path: "src/new.ts", content: "" }, optional: {} },
  delete_file: { needed: { path: "src/a.ts" }, optional: {} },
  run_command: { needed: { command: "ls" }, optional: { timeout_s: 60 } },
  run_tests: { needed: {}, optional: { filter: "a" } },
  finish: { needed: { summary: "done", title: "done" }, optional: {} },
  run_verification: { needed: { stage: "after", command: "make test", timeout_s: 60 }, optional: {} },
};

/** Arguments of an action with every choice of its optional fields: left out, null, and set. */
export function sampleArguments(name: string): readonly JsonObject[] {
  const sample = samples[name];
  if (sample === undefined) throw new Error(`no sample for ${name}: add one`);
  let choices: JsonObject[] = [sample.needed];
  for (const [field, value] of Object.entries(sample.optional)) {
    choices = choices.flatMap((args) => [args, { ...args, [field]: null }, { ...args, [field]: value }]);
  }
  return choices;
}
