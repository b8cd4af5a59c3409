import { describe, expect, it } from "vitest";
import { reportJson, reportText } from "../../src/cli/run-report-view.ts";
import { aDecision, anOutcome, aReport } from "../support/outcomes.ts";
import { RunReport } from "../support/run-report.ts";

const tests = { exitCode: 1, timedOut: false, durationMs: 900, passedCount: 2, failedCount: 1, missing: null };

describe("the report as JSON", () => {
  it("is the contract's object, also for a run that did nothing", () => {
    expect(RunReport.parse(reportJson(aReport()))).toMatchObject({ pull_request: null, actions: [], patch_kept: null });
  });

  it("tells of each action its decision, its policies and why it was not done", () => {
    const refusal = {
      code: "not_read",
      received: "`a` was not read",
      allowed: "",
      remedy: "",
      example: null,
      attachment: "",
    };
    const actions = [
      anOutcome({ tool: "edit_file", state: "invalid", status: "refused", refusal: { ...refusal, code: "not_read" } }),
      anOutcome({ decision: null, state: "invalid" }),
    ];

    expect(reportJson(aReport({ actions }))["actions"]).toMatchObject([
      {
        tool: "edit_file",
        decision: "allow",
        policy_ids: ["reads"],
        reason: { code: "not_read", message: "`a` was not read" },
      },
      { decision: null, policy_ids: [], reason: null },
    ]);
  });
});

describe("the report for people", () => {
  it.each([
    [
      { isDraft: false, isConfirmed: true },
      "opened      pull request #3, https://github.com/octo/tools/pull/3, head aaaa\n",
    ],
    [
      { isDraft: true, isConfirmed: false },
      "opened      draft pull request #3, https://github.com/octo/tools/pull/3, head aaaa (not confirmed: ",
    ],
  ])("names the pull request, its address and its head (%j)", (state, line) => {
    const diffStat = { files: 1, added: 1, removed: 0 };
    const opened = { number: 3, url: "https://github.com/octo/tools/pull/3", headSha: "aaaa", diffStat, ...state };

    expect(reportText(aReport({ pullRequest: opened }))).toContain(line);
  });

  it("says how it ended and why, what the tests said, and where the patch is", () => {
    const text = reportText(
      aReport({
        patchKept: "countersign runs patch 1",
        diffStat: { files: 1, added: 3, removed: 2 },
        tests: { command: "npm test", derived: false, before: tests, after: { ...tests, exitCode: 0, failedCount: 0 } },
      }),
    );

    expect(text).toContain("conclusion  success: the tests pass\n");
    expect(text).toContain(
      "tests       npm test: before exit 1, 2 passed, 1 failed, after exit 0, 2 passed, 0 failed\n",
    );
    expect(text).toContain("change      1 file, +3 -2\n");
    expect(text).toContain("patch       npx --no -- countersign runs patch 1\n");
    expect(text).toContain("ledger      7 entries, root AAAA, verified\n");
  });

  it.each([
    [null, "not run"],
    [{ ...tests, missing: "no `make`" }, "not run"],
    [{ ...tests, timedOut: true }, "timed out"],
    [{ ...tests, exitCode: null, passedCount: null }, "exit -"],
  ])("tells tests that gave no verdict (%j)", (before, words) => {
    const text = reportText(aReport({ tests: { command: null, derived: false, before, after: null } }));

    expect(text).toContain(`tests       no command: before ${words}, after not run\n`);
  });

  it("shouts where the ledger does not verify, and names what was left out", () => {
    const ledger = { ...aReport().ledger, verified: false };

    const text = reportText(aReport({ ledger, leftOut: ["build/x"] }));

    expect(text).toContain("NOT VERIFIED");
    expect(text).toContain("left out    build/x (no authorized action wrote it)\n");
  });

  it("holds the denying policy in the table, and no control character of a title that the model wrote", () => {
    const decision = aDecision({ effect: "deny", policyIds: ["floor:git_folder"] });
    const refusal = {
      code: "policy_denied",
      received: "",
      allowed: "",
      remedy: "",
      example: null,
      attachment: "",
    } as const;
    const actions = [anOutcome({ state: "denied", status: "refused", decision, refusal })];

    const text = reportText(aReport({ title: "a\x1b]0;x\x07\nconclusion  success", actions }));

    expect(text).toMatch(/^read_file +deny +denied +refused +12 ms +policy_denied: floor:git_folder$/m);
    expect(text).not.toContain("\x1b");
    expect(text.match(/^conclusion /gm)).toHaveLength(1);
  });
});
