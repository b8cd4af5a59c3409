import { describe, expect, it } from "vitest";
import { type AuthorizationRequest, compilePolicies, noRepositoryPolicies } from "../../src/policy/index.ts";
import { aPath, aRequest, fullCatalogue, loadStandard, policyDeps } from "../support/policy-requests.ts";

/** Allows whatever the floor lets through: what is denied here is the floor's alone. */
const { schema } = await loadStandard();
const open = compilePolicies(
  policyDeps,
  new Map([
    ["schema.cedarschema", schema],
    ["open.cedar", '@id("open") permit (principal, action, resource);'],
  ]),
  fullCatalogue,
);
const idOf = (request: AuthorizationRequest): string => {
  const { effect, policyIds } = open.authorize([request], noRepositoryPolicies);
  return effect === "deny" ? policyIds.join() : effect;
};

const runBranch = "countersign/issue-7-0190abcd";
const changing = (path: string, kind: "write_path" | "create_path" | "delete_path" = "write_path") =>
  aRequest({ path: aPath(path, { kind }) });
const writing = (overrides: Partial<AuthorizationRequest> = {}) =>
  aRequest({
    principal: { kind: "system" },
    tool: "push_commit",
    group: "publish",
    effects: ["publish"],
    path: null,
    input: { branch: runBranch },
    runBranch,
    ...overrides,
  });
const person = { id: "7", login: "bob", permission: "admin" } as const;

const githubWrites: readonly (readonly [string, AuthorizationRequest["input"]])[] = [
  ["push_commit", { branch: runBranch }],
  ["open_pull_request", { branch: runBranch }],
  ["update_pull_request", { pull_request: 1 }],
  ["create_comment", { issue: 1, body: "" }],
  ["update_comment", { issue: 1, body: "" }],
  ["set_check_run", { head_sha: "" }],
  ["add_label", { issue: 1, label: "" }],
  ["remove_label", { issue: 1, label: "" }],
  ["delete_branch", { branch: runBranch }],
  ["add_reaction", { issue: 1, content: "eyes" }],
];

describe("the floor, under a set that permits everything (AUD-23)", () => {
  it.each([
    [".git/config", "floor:git_folder"],
    ["sub/.git/hooks/pre-commit", "floor:git_folder"],
    [".github/workflows/ci.yml", "floor:github_workflows"],
    [".github/actions/a/action.yml", "floor:github_actions"],
    [".github/countersign.yml", "floor:countersign_settings"],
  ])("closes %s to every change, approved or not, in every spelling of its name", (path, id) => {
    for (const kind of ["write_path", "create_path", "delete_path"] as const)
      expect(idOf(changing(path, kind))).toBe(id);
    expect(idOf({ ...changing(path), approved: true })).toBe(id);
    expect(idOf(changing(path.toUpperCase()))).toBe(id);
    expect(idOf(aRequest({ path: aPath("src/a.ts", { requested: `src/../${path}` }) }))).toBe(id);
    expect(idOf(aRequest({ path: aPath(path, { requested: "src/link" }) }))).toBe(id);
    expect(idOf(writing({ path: aPath(path) }))).toBe(id);
  });

  it("closes any branch but the run's own, also where the run has none", () => {
    for (const tool of ["push_commit", "open_pull_request", "delete_branch"]) {
      expect(idOf(writing({ tool, input: { branch: "main" } }))).toBe("floor:foreign_branch");
    }
    const { runBranch: _none, ...without } = writing();
    expect(idOf(without)).toBe("floor:foreign_branch");
    expect(idOf(writing())).toBe("allow");
  });

  it("lets nothing be forced that does not name the commit it replaces", () => {
    for (const expected of [null, ""]) {
      expect(idOf(writing({ input: { branch: runBranch, force: true, expected_sha: expected } }))).toBe(
        "floor:force_without_sha",
      );
    }
    expect(idOf(writing({ input: { branch: runBranch, force: true, expected_sha: "a".repeat(40) } }))).toBe("allow");
  });

  it.each(["merge_pull_request", "approve_review", "dismiss_review", "create_repository", "mcp__files__read", ""])(
    "knows no tool %j: merging, approving and dismissing a review are none",
    (tool) => {
      expect(idOf(aRequest({ tool }))).toBe("floor:unknown_tool");
      expect(idOf(writing({ tool }))).toBe("floor:unknown_tool");
    },
  );

  it("closes every other repository", () => {
    expect(idOf(writing({ runRepositoryId: "2002" }))).toBe("floor:foreign_repository");
    expect(idOf(writing({ runRepositoryId: "2001" }))).toBe("allow");
  });

  it.each(githubWrites)("leaves %s to the host: no run and no person writes to GitHub", (tool, input) => {
    const asked = writing({ tool, input });

    expect(idOf(asked)).toBe("allow");
    expect(idOf({ ...asked, principal: { kind: "run", runId: asked.runId } })).toBe("floor:github_write");
    expect(idOf({ ...asked, principal: { kind: "person", person } })).toMatch(/^floor:/);
  });

  it("serves no other run", () => {
    const other = "01900000-0000-7000-8000-000000000002" as AuthorizationRequest["runId"];

    expect(idOf(aRequest({ principal: { kind: "run", runId: other } }))).toBe("floor:foreign_run");
  });

  it("takes an answer from a person alone, and from a person nothing else (AUD-37)", () => {
    const answer = aRequest({
      principal: { kind: "person", person },
      tool: "approve",
      group: "publish",
      path: null,
      input: { approval_id: "a", tool: "edit_file", risk: "DANGEROUS" },
    });

    expect(idOf(answer)).toBe("allow");
    expect(idOf({ ...answer, principal: { kind: "system" } })).toBe("floor:answer_by_nobody");
    expect(idOf({ ...answer, principal: { kind: "run", runId: answer.runId } })).toBe("floor:answer_by_nobody");
    expect(idOf(aRequest({ principal: { kind: "person", person } }))).toBe("floor:answer_by_nobody");
  });
});
