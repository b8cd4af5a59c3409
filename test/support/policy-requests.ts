import { fileURLToPath } from "node:url";
import { type ActionGroup, type DecisionId, type PathFact, parseRunId, type RunId } from "../../src/domain/index.ts";
import { type AuthorizationRequest, loadPolicies, type PolicyEngine } from "../../src/policy/index.ts";

export const standardFolder = fileURLToPath(new URL("../../policies/standard", import.meta.url));

/** Every action of the design's catalogue, by group. */
const groups: Readonly<Record<ActionGroup, readonly string[]>> = {
  read: ["read_file", "search_text", "find_files", "view_image", "finish"],
  write: ["edit_file", "create_file", "delete_file"],
  execute: ["run_command", "run_tests", "run_setup", "run_verification"],
  publish: [
    "push_commit",
    "open_pull_request",
    "update_pull_request",
    "create_comment",
    "update_comment",
    "set_check_run",
    "add_label",
    "remove_label",
    "delete_branch",
    "add_reaction",
    "approve",
  ],
};
export const fullCatalogue = Object.entries(groups).flatMap(([group, names]) =>
  names.map((name) => ({ name, group: group as ActionGroup })),
);

/** A clock that stands still, so that a busy machine denies nothing. */
export const policyDeps = {
  clock: () => 0,
  newDecisionId: () => "01900000-0000-7000-8000-00000000dec1" as DecisionId,
};

export const loadStandard = (): Promise<PolicyEngine> => loadPolicies(policyDeps, standardFolder, fullCatalogue);

const aRunId = parseRunId("01900000-0000-7000-8000-000000000001") as RunId;

export function aPath(path: string, facts: Partial<PathFact> = {}): PathFact {
  return { requested: path, resolved: path, class: "file", symlink: false, kind: "write_path", ...facts };
}

/** An edit of an ordinary file by the run of a maintainer, with what a test wants different. */
export function aRequest(overrides: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  return {
    principal: { kind: "run", runId: aRunId },
    requestedBy: { id: "1001", login: "ada", permission: "write" },
    tool: "edit_file",
    group: "write",
    risk: "RESTRICTED",
    repository: { id: "2001", name: "ada/engine" },
    runId: aRunId,
    approved: false,
    runState: "in_progress",
    attempt: 0,
    budgetLeft: { steps: 50, tokens: 100_000, seconds: 1_800 },
    effects: ["write_path"],
    path: aPath("src/app.ts"),
    input: { path: "src/app.ts", edits: [{ anchor: "a", replacement: "b" }] },
    ...overrides,
  };
}
