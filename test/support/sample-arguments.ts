import type { ChangeSet, JsonObject } from "../../src/domain/index.ts";
import { aChange } from "./github-world.ts";

type Sample = { readonly needed: JsonObject; readonly optional: JsonObject };

/** The branch of a test's run. */
export const runBranch = "countersign/issue-7-0a1b2c3d";
export const aSha = (digit: string): string => digit.repeat(40);

/** What a test's run publishes. */
export const publishedChanges: ChangeSet = { changes: [aChange("src/a.ts"), aChange("src/old.ts", null)] };

/** The arguments of a push of these changes to the run's branch, which is not there yet. */
export const pushArguments = ({ changes }: ChangeSet): JsonObject => ({
  branch: runBranch,
  expected_sha: null,
  parent_sha: aSha("1"),
  base_tree_sha: aSha("2"),
  message: "Mend it\n\nCountersign-Run: 1",
  changes: changes.map(({ path, after }) => ({
    path,
    mode: after?.mode ?? null,
    blob_sha: after?.blobSha ?? null,
  })),
});

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
  run_setup: {
    needed: { command: "npm ci", timeout_s: 60, network: "registries", changed_dependencies: false },
    optional: {},
  },
  run_verification: { needed: { stage: "after", command: "make test", timeout_s: 60 }, optional: {} },
  push_commit: { needed: pushArguments(publishedChanges), optional: {} },
  open_pull_request: {
    needed: { branch: runBranch, base: "main", title: "Mend it", body: "what was done", draft: false },
    optional: {},
  },
  update_pull_request: {
    needed: { pull_request: 100, revision: 1 },
    optional: { title: "Mend it", body: "what was done", draft: false },
  },
  create_comment: { needed: { issue: 7, body: "at work" }, optional: {} },
  update_comment: { needed: { issue: 7, comment: 500, body: "done", revision: 1 }, optional: {} },
  set_check_run: {
    needed: { head_sha: aSha("3"), status: "completed", title: "Tests pass", summary: "12 of 12", revision: 1 },
    optional: { conclusion: "success" },
  },
  add_label: { needed: { issue: 7, label: "countersign" }, optional: {} },
  remove_label: { needed: { issue: 7, label: "countersign" }, optional: {} },
  delete_branch: { needed: { branch: runBranch, expected_sha: aSha("4") }, optional: {} },
  add_reaction: { needed: { issue: 7, content: "eyes" }, optional: {} },
};

/** Of GitHub's large ids: a number that fits no 32 bits. */
const largeId = 4_000_000_001;
/** Choices that are no optional fields: one of several must be there. */
const further: Readonly<Record<string, readonly JsonObject[]>> = {
  add_reaction: [
    { comment: largeId, content: "rocket" },
    { issue: null, comment: null, review_comment: largeId, content: "confused" },
  ],
  push_commit: [{ ...pushArguments(publishedChanges), expected_sha: aSha("1") }],
};

/** Arguments of an action with every choice of its optional fields: left out, null, and set. */
export function sampleArguments(name: string): readonly JsonObject[] {
  const sample = samples[name];
  if (sample === undefined) throw new Error(`no sample for ${name}: add one`);
  let choices: JsonObject[] = [sample.needed];
  for (const [field, value] of Object.entries(sample.optional)) {
    choices = choices.flatMap((args) => [args, { ...args, [field]: null }, { ...args, [field]: value }]);
  }
  return [...choices, ...(further[name] ?? [])];
}
