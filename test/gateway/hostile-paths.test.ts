import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerApproval, perform } from "../../src/gateway/index.ts";
import type { Workspace } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, type TestHome } from "../support/checkout.ts";
import {
  aCall,
  approvalOf,
  aYes,
  call,
  never,
  openTestGateway,
  type TestGateway,
  type TestRun,
} from "../support/gateway.ts";

const files = {
  "src/a.ts": "a\n",
  ".github/workflows/ci.yml": "on: push\n",
  "tool.sh": { program: "echo hello\n" },
  "to-github": { link: ".github" },
  "ci-link.yml": { link: ".github/workflows/ci.yml" },
  "two-links": { link: "to-github/workflows" },
  "to-etc": { link: "/etc" },
  "to-parent": { link: "../.." },
  "to-new": { link: "../new.txt" },
  "to-itself": { link: "to-itself" },
};

const floorForChanges = [
  ".github/workflows/x.yml",
  ".GitHub/Workflows/x.yml",
  ".github/workflows/ci.yml",
  ".github//workflows/./x.yml",
  "src/../.github/workflows/x.yml",
  ".github/workflows/sub/../x.yml",
  ".git\u200bhub/work\u00adflows/x.yml",
  ".github./workflows /x.yml",
  ".github/actions/a/action.yml",
  ".github/countersign.yml",
  ".github/Countersign.YML",
  "to-github/workflows/x.yml",
  "two-links/x.yml",
  "ci-link.yml",
];
const floorForAll = [
  ".git",
  ".git/config",
  ".GIT/hooks/x",
  "sub/.git/config",
  "src/../.git/config",
  ".git./config",
  ".g\u200cit/config",
  "GIT~1/config",
  ".git::$INDEX_ALLOCATION/config",
  "src\\a.ts",
  "..\\x",
];
const outside = ["../x", "/etc/x", "a/../../x", "src/a\0b", "to-etc/x", "to-parent/x", "to-new", "to-itself", ".."];

describe("a hostile path on a real checkout (AT-17, AT-18)", () => {
  let home: TestHome;
  let gateway: TestGateway;
  let workspace: Workspace;
  let run: TestRun;
  beforeAll(async () => {
    home = aHome();
    gateway = await openTestGateway();
    workspace = await aWorkspace(home, await aBase(home, files));
    run = await gateway.newRun(workspace);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
    home.dispose();
  });

  const changesOf = (path: string) =>
    [
      ["create_file", { path, content: "x" }],
      ["edit_file", { path, edits: [{ anchor: "on", replacement: "off" }] }],
      ["delete_file", { path }],
    ] as const;
  const unchanged = async () => {
    const reading = await workspace.readBack();
    return reading.kind === "read" && reading.changeSet.changes.length === 0;
  };

  it.each([...floorForChanges, ...floorForAll])("is denied a change by the floor, nothing done: %j", async (path) => {
    for (const [tool, args] of changesOf(path)) {
      const outcome = await call(gateway, run, tool, args);

      expect(outcome).toMatchObject({ state: "denied", refusal: { code: "policy_denied" } });
      expect(outcome.decision?.policyIds).toEqual([expect.stringMatching(/^floor:/)]);
    }
    expect(await unchanged()).toBe(true);
  });

  it.each(floorForAll)("is denied a read by the floor too: %j", async (path) => {
    expect(await call(gateway, run, "read_file", { path })).toMatchObject({ state: "denied" });
  });

  it.each(outside)("leads outside and is refused before any decision: %j", async (path) => {
    for (const [tool, args] of [...changesOf(path), ["read_file", { path }] as const]) {
      const outcome = await call(gateway, run, tool, args);

      expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "outside_workspace" }, decision: null });
    }
    expect(await unchanged()).toBe(true);
    expect(existsSync(join(workspace.folder, "..", "new.txt"))).toBe(false);
  });

  it("a workflow may be read like any file, and through a link", async () => {
    const direct = await call(gateway, run, "read_file", { path: ".github/workflows/ci.yml" });
    const linked = await call(gateway, run, "read_file", { path: "ci-link.yml" });

    expect([direct.status, linked.status]).toEqual(["ok", "ok"]);
  });

  it("a name that only looks like a protected one is what it is", async () => {
    await using own = await aWorkspace(home, workspace.base);
    const ownRun = await gateway.newRun(own);

    for (const path of [
      ".gitkeep",
      "git/config",
      ".g\u0456thub/workflows/x.yml",
      "docs/.github.md",
      "src/workflows/x.yml",
    ]) {
      expect(await call(gateway, ownRun, "create_file", { path, content: "x" })).toMatchObject({ state: "succeeded" });
    }
  });

  it("a link to a name that is not UTF-8 ends no run", async () => {
    await using own = await aWorkspace(home, workspace.base);
    const ownRun = await gateway.newRun(own);
    symlinkSync(Buffer.from([0x73, 0xff]), join(own.folder, "odd"));

    const outcome = await call(gateway, ownRun, "create_file", { path: "odd", content: "x" });
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "outside_workspace" } });
    expect(again.verification.findings).toEqual([]);
  });

  it("flags a path that is not NFC, and takes it as it is (AUD-14)", async () => {
    await using own = await aWorkspace(home, workspace.base);
    const ownRun = await gateway.newRun(own);

    const outcome = await call(gateway, ownRun, "create_file", { path: "cafe\u0301.txt", content: "x" });
    const { action } = await gateway.readAgain(outcome.actionId);

    expect(action.states.find(({ state }) => state === "intent_recorded")?.evidence).toMatchObject({
      pathsNotNfcCount: 1,
    });
    expect(outcome.changeSet?.changes.map(({ path }) => path)).toEqual(["cafe\u0301.txt"]);
  });

  it("a script rewritten on the disk between question and answer is not run (C-8)", async () => {
    await using own = await aWorkspace(home, workspace.base);
    const ownRun = await gateway.newRun(own);
    const deps: TestGateway["deps"] = {
      ...gateway.deps,
      authorize: (requests, policies) => {
        const decision = gateway.policies.authorize(requests, policies);
        return requests[0]?.approved === true ? decision : { ...decision, effect: "require_approval" };
      },
    };
    const ask = () => perform(deps, ownRun, aCall(ownRun, "run_command", { command: "./tool.sh" }), never);
    const answer = (question: Awaited<ReturnType<typeof ask>>) =>
      answerApproval(deps, ownRun, approvalOf(question), aYes, never);

    const changed = await ask();
    writeFileSync(join(own.folder, "tool.sh"), "touch evil\n");
    const superseded = await answer(changed);
    const asIs = await answer(await ask());

    expect(superseded).toMatchObject({ state: "approval_superseded", refusal: { code: "approval_denied" } });
    expect(asIs.state).toBe("succeeded");
  });
});
