import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import type { ModelServer } from "../support/model-server.ts";
import { onTerminal } from "../support/on-terminal.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { AuditedRun, RunReport, readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let countersign: Countersign;
let repository: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  repository = await writeTinyRepository(join(countersign.folder, "tiny"));
  writeFileSync(join(countersign.folder, "issue.md"), "# Write a note\n");
});

afterAll(() => countersign[Symbol.asyncDispose]());

const environment = (model: ModelServer) => ({ OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" });
const argv = (repo: string): readonly string[] => ["run", "--repo", repo, "--issue", "issue.md", "--json"];

async function audited(runId: string, tool: string) {
  const shown = readJson(AuditedRun, await countersign.inProcess(["audit", "show", runId, "--json"]));
  const [action] = shown.actions.filter((one) => one.tool === tool);
  expect(readJson(Verified, await countersign.inProcess(["audit", "verify", "--json"]))).toMatchObject({ ok: true });
  return action;
}

describe("a repository's own settings", () => {
  it("forbid what the operator allows, and name the command that judges the change", async () => {
    const settings = [
      "version: 1",
      "verify: { run: grep -q one value.txt }",
      "forbid:",
      `  - '@id("values-stay") @advice("Values are changed by hand.") forbid (principal, action, resource) when { context has path && context.path.resolved like "value*" };'`,
      "",
    ].join("\n");
    const repo = await writeTinyRepository(join(countersign.folder, "own"), { ".github/countersign.yml": settings });
    const edit = call("edit_file", { path: "value.txt", edits: [{ anchor: "one", replacement: "two" }] });
    const allowed = call("create_file", { path: "note.txt", content: "kept\n" });
    await using model = await startPlannedModel([edit, allowed, finish]);

    const report = readJson(RunReport, await countersign.inProcess(argv(repo), environment(model)));

    expect(report).toMatchObject({
      conclusion: "success",
      tests: { command: "grep -q one value.txt", derived: false },
    });
    const [, denied] = report.actions;
    expect(denied).toMatchObject({
      tool: "edit_file",
      state: "denied",
      decision: "deny",
      reason: { code: "policy_denied" },
    });
    expect(denied?.policy_ids.join()).toContain("values-stay");
    expect(await audited(report.run_id, "edit_file")).toMatchObject({ event: { allowed: false, outcome: "denied" } });
  });
});

describe("an action that needs a person", () => {
  const manifest = call("create_file", { path: "package.json", content: '{ "private": true }\n' });
  const question = "Type yes to approve exactly this action, or a reason to deny it: ";

  /** The run on a terminal where somebody types; what was shown, and the report below it. */
  async function answered(keys: string) {
    await using model = await startPlannedModel([manifest, finish]);
    const ended = await onTerminal(countersign, argv(repository), environment(model), [{ after: question, keys }]);
    const shown = ended.stdout.replaceAll("\r\n", "\n");
    const report = RunReport.parse(JSON.parse(shown.slice(shown.lastIndexOf("\n{\n"))));
    return { ended, shown, report };
  }

  it("is denied where nobody sits at a terminal, and the run goes on", async () => {
    await using model = await startPlannedModel([manifest, finish]);

    const report = readJson(RunReport, await countersign.inProcess(argv(repository), environment(model)));

    expect(report.actions[1]).toMatchObject({
      tool: "create_file",
      state: "denied",
      decision: "require_approval",
      policy_ids: ["dangerous", "manifest"],
      reason: { code: "approval_unavailable" },
    });
    expect(report).toMatchObject({ patch: "", patch_kept: null });
    expect(report.conclusion).not.toBe("success");
  });

  it("is done after a yes on the terminal, with question, answer and use on record", async () => {
    const { ended, shown, report } = await answered("yes\r");

    // Approved and published, but a manifest steers the tests: what they say of the change proves nothing.
    expect(ended.exitCode, shown).toBe(1);
    expect(report).toMatchObject({ conclusion: "neutral", cause: expect.stringContaining("package.json") });
    expect(shown).toContain("The run asks for approval");
    expect(shown).toContain("policy:  dangerous, manifest");
    expect(shown).toContain("path: package.json");
    expect(report.patch).toContain("package.json");
    const action = await audited(report.run_id, "create_file");
    expect(action?.states.map(({ state }) => state)).toEqual([
      "proposed",
      "approval_pending",
      "approval_granted",
      "authorized",
      "intent_recorded",
      "started",
      "succeeded",
    ]);
    expect(action?.event).toMatchObject({ allowed: true, outcome: "ok" });
    const uses = "select 1 from approval_uses join approvals using (approval_id) where approvals.action_id = $1";
    expect(await countersign.store?.sql(uses, [action?.action_id])).toHaveLength(1);
  });

  it("is not done after the end of input, and the run goes on", async () => {
    const { report } = await answered("\x04");

    expect(report).toMatchObject({ patch: "", stop_reason: "nothing_to_do" });
    const action = await audited(report.run_id, "create_file");
    expect(action).toMatchObject({ state: "approval_refused", event: { allowed: false, outcome: "approval:refused" } });
  });

  it("is cancelled with the run when Ctrl-C is typed at the question", async () => {
    const { ended, report } = await answered("\x03");

    expect(ended.exitCode).toBe(1);
    expect(report).toMatchObject({ conclusion: "cancelled", ledger: { verified: true } });
    expect(await audited(report.run_id, "create_file")).toMatchObject({ event: { outcome: "cancelled:stop" } });
  });
});

describe("what a command wrote", () => {
  it("is decided path by path once more: what no file tool may write stays out, with the rule that says so", async () => {
    const script = [
      "mkdir -p .github/workflows && echo evil >.github/workflows/new.yml",
      "echo '* -text' >.gitattributes",
      "echo script-shell=/bin/true >.npmrc",
      "echo fine >plain.txt",
      "rm CODEOWNERS; mkdir CODEOWNERS; echo x >CODEOWNERS/x.txt",
      "rm -r docs; echo y >docs",
    ].join("; ");
    const owned = { CODEOWNERS: "* @alice\n", "docs/CODEOWNERS": "* @alice\n" };
    const repo = await writeTinyRepository(join(countersign.folder, "written"), owned);
    await using model = await startPlannedModel([call("run_command", { command: script }), finish]);

    const report = readJson(RunReport, await countersign.inProcess(argv(repo), environment(model)));

    expect(report.diff_stat.files).toBe(1);
    expect(report.patch).toContain("plain.txt");
    expect(report.patch).not.toMatch(/workflows|gitattributes|npmrc|CODEOWNERS|docs/);
    expect(report.withheld).toEqual([
      { path: ".gitattributes", policy_ids: expect.arrayContaining(["git-settings"]) },
      { path: ".github/workflows/new.yml", policy_ids: ["floor:github_workflows"] },
      { path: ".npmrc", policy_ids: expect.arrayContaining(["package-manager"]) },
      { path: "CODEOWNERS", policy_ids: expect.arrayContaining(["code-owners"]) },
      { path: "docs/CODEOWNERS", policy_ids: expect.arrayContaining(["code-owners"]) },
      { path: "CODEOWNERS/x.txt", policy_ids: ["gate:path_taken"] },
      { path: "docs", policy_ids: ["gate:path_taken"] },
    ]);
  });

  it("proves nothing where it adds a file that the test runner loads in place of its own", async () => {
    const repo = await writeTinyRepository(join(countersign.folder, "shadow"), {
      ".github/countersign.yml": "version: 1\nverify: { run: python3 -m unittest }\n",
      "test_value.py": "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): self.fail()\n",
    });
    const shadow = call("create_file", { path: "functools.py", content: 'import os; print("OK"); os._exit(0)\n' });
    await using model = await startPlannedModel([shadow, finish]);

    const report = readJson(RunReport, await countersign.inProcess(argv(repo), environment(model)));

    expect(report.tests.after?.exit_code).toBe(0);
    expect(report.conclusion).toBe("neutral");
    expect(report.cause).toContain("not verified");
  });
});

describe("what was decided in all these runs", () => {
  it("is decided the same again, each by the set, the repository's policies and the request on record (AUD-25, AUD-31)", async () => {
    const ended = await countersign.command(["policy", "replay", "--since", "2020-01-01", "--json"]);

    const replayed = JSON.parse(ended.stdout) as { reproduced: number; differences: readonly unknown[] };
    expect({ exitCode: ended.exitCode, differences: replayed.differences }).toEqual({ exitCode: 0, differences: [] });
    expect(replayed).toMatchObject({ ok: true, different: 0, erased: 0, unreadable: 0 });
    expect(replayed.reproduced).toBeGreaterThan(20);
  });

  it("names what another set would change, and changes nothing", async () => {
    const readOnly = join(import.meta.dirname, "../../policies/read-only");

    const ended = await countersign.command(["policy", "replay", "--since", "2020-01-01", "--with", readOnly]);

    expect(ended.exitCode).toBe(0);
    expect(ended.stdout).toMatch(/ would change, 0 erased/);
    expect(ended.stdout).toContain("allow by writes -> deny by no-changes");
  });
});
