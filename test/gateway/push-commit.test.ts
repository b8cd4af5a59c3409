import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerApproval } from "../../src/gateway/index.ts";
import type { RunContext } from "../../src/gateway/run-context.ts";
import { disguise, names, oracle, type Verdict } from "../policy/oracle.ts";
import { approvalOf, aYes, hostCall, never, openTestGateway, passed, type TestGateway } from "../support/gateway.ts";
import { aChange, aChangeSet, createGithubWorld, type GithubWorld } from "../support/github-world.ts";
import { publishedChanges, pushArguments, runBranch } from "../support/sample-arguments.ts";

const floored = [
  [".github/workflows/ci.yml", "github_workflows"],
  [".GitHub/Workflows/x.yml", "github_workflows"],
  [".git\u200bhub/work\u00adflows/x.yml", "github_workflows"],
  [".github./workflows /x.yml", "github_workflows"],
  [".github/actions/a/action.yml", "github_actions"],
  [".github/Countersign.YML", "countersign_settings"],
  [".git/config", "git_folder"],
  ["sub/.GIT/hooks/pre-commit", "git_folder"],
  ["GIT~1/config", "git_folder"],
] as const;
const malformed = [
  "/etc/passwd",
  "../x",
  "src/../.github/workflows/x.yml",
  "./src/a.ts",
  "src//a.ts",
  "src/",
  ".",
  "..",
  "src\\a.ts",
  "src/a\0b",
];
const guarded = [
  "package.json",
  "lib/package-lock.json",
  ".npmrc",
  "AGENTS.md",
  ".gitattributes",
  ".github/CODEOWNERS",
];

describe("push_commit decides every path once more (AUD-21, SEC-95)", () => {
  let gateway: TestGateway;
  let world: GithubWorld;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  async function push(paths: readonly string[], changes: Partial<RunContext> = {}) {
    const changeSet = aChangeSet(...paths);
    world = createGithubWorld();
    const run = await gateway.newRun(null, {
      github: world.writer,
      publishing: { changeSet: passed(changeSet) },
      ...changes,
    });
    return { run, outcome: await hostCall(gateway, run, "push_commit", pushArguments(changeSet)) };
  }

  it("asks once for the branch and once for each path, as the host", async () => {
    const { outcome } = await push(["src/a.ts", "src/b.ts"]);

    expect(outcome).toMatchObject({ state: "succeeded", decision: { effect: "allow", policyIds: ["publishing"] } });
    const requests = outcome.decision?.requests ?? [];
    expect(requests.map(({ path }) => path)).toMatchObject([null, { resolved: "src/a.ts" }, { resolved: "src/b.ts" }]);
    for (const request of requests) {
      expect(request).toMatchObject({
        principal: { kind: "system" },
        tool: "push_commit",
        risk: "RESTRICTED",
        runBranch,
      });
    }
    expect(world.branches.has(runBranch)).toBe(true);
  });

  it.each(floored)("%j is denied by the floor with everything beside it, approved or not", async (path, name) => {
    for (const isApproved of [true, false]) {
      const { outcome } = await push(["src/a.ts", path], { isPathApproved: () => isApproved });

      expect(outcome).toMatchObject({ state: "denied", decision: { policyIds: [`floor:${name}`] } });
      expect(world.sent).toEqual([]);
    }
  });

  it("a deletion and a link are changes like others to the floor", async () => {
    const workflow = ".github/workflows/ci.yml";
    const link = { ...aChange(workflow), after: { ...aChange("x").after, mode: "120000" } };
    for (const change of [aChange(workflow, null), link]) {
      const changeSet = { changes: [change] } as unknown as TestChangeSet;
      const { writer, sent } = createGithubWorld();
      const run = await gateway.newRun(null, { github: writer, publishing: { changeSet } });

      const outcome = await hostCall(gateway, run, "push_commit", pushArguments(changeSet));

      expect(outcome).toMatchObject({ state: "denied", decision: { policyIds: ["floor:github_workflows"] } });
      expect(sent).toEqual([]);
    }
  });

  it.each(malformed)("%j is no path of a tree that was read back, and is refused before any decision", async (path) => {
    const { outcome } = await push([path]);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "invalid_arguments" }, decision: null });
    expect(world.sent).toEqual([]);
  });

  it.each(guarded)("%j that nobody approved is denied where nobody can be asked", async (path) => {
    const { outcome } = await push(["src/a.ts", path], { approvalChannel: "none" });

    expect(outcome).toMatchObject({ state: "denied", refusal: { code: "approval_unavailable" } });
    expect(outcome.decision?.policyIds).toContain("dangerous");
    expect(world.sent).toEqual([]);
  });

  it.each(guarded)("%j whose bytes a person approved is pushed, and nobody is asked twice", async (path) => {
    const { outcome } = await push(["src/a.ts", path], { isPathApproved: (changed) => changed === path });

    expect(outcome).toMatchObject({ state: "succeeded", decision: { effect: "allow" } });
    const risks = outcome.decision?.requests.map(({ risk, approved }) => [risk, approved]);
    expect(risks).toEqual([
      ["RESTRICTED", false],
      ["RESTRICTED", false],
      ["DANGEROUS", true],
    ]);
  });

  it("an approved path vouches for no other", async () => {
    const { outcome } = await push(["Makefile", "package.json"], {
      approvalChannel: "none",
      isPathApproved: (path) => path === "package.json",
    });

    expect(outcome).toMatchObject({ state: "denied", decision: { policyIds: ["dangerous", "test-or-build"] } });
    expect(world.sent).toEqual([]);
  });

  it("asks, where a person can be asked, for these bytes and no others", async () => {
    const { run, outcome } = await push(["package.json"]);
    expect(outcome).toMatchObject({ state: "approval_pending" });
    expect(world.sent).toEqual([]);

    const answered = await answerApproval(gateway.deps, run, approvalOf(outcome), aYes, never);
    const again = await gateway.readAgain(outcome.actionId);

    expect(answered).toMatchObject({ state: "succeeded", status: "ok" });
    expect(world.branches.has(runBranch)).toBe(true);
    expect(again.verification.findings).toEqual([]);
  });

  it("is decided by what the arguments name, and sends nothing else", async () => {
    const named = aChangeSet("src/a.ts", "src/b.ts");
    const evil = Buffer.from("evil\n");
    const first = named.changes[0] as (typeof named.changes)[number];
    const others = {
      "fewer paths": aChangeSet("src/a.ts"),
      "more paths": aChangeSet("src/a.ts", "src/b.ts", "src/c.ts"),
      "another path": aChangeSet("src/a.ts", ".github/workflows/x.yml"),
      "another order": aChangeSet("src/b.ts", "src/a.ts"),
      "another content": { changes: [aChange("src/a.ts", "evil\n"), aChange("src/b.ts")] },
      "a deletion": { changes: [aChange("src/a.ts", null), aChange("src/b.ts")] },
      "another mode": {
        changes: [{ ...first, after: { ...first.after, mode: "100755" } }, aChange("src/b.ts")],
      },
      "bytes that are not their blob's": {
        changes: [{ ...first, after: { ...first.after, content: evil } }, aChange("src/b.ts")],
      },
    };
    for (const [name, changeSet] of Object.entries(others)) {
      const { writer, sent } = createGithubWorld();
      const run = await gateway.newRun(null, { github: writer, publishing: { changeSet } as RunContext["publishing"] });

      const outcome = await hostCall(gateway, run, "push_commit", pushArguments(named));

      expect([name, outcome.state, outcome.refusal?.code]).toEqual([name, "invalid", "not_executed"]);
      expect(sent).toEqual([]);
    }
  });

  it("sends the very bytes of the change set", async () => {
    world = createGithubWorld();
    const run = await gateway.newRun(null, { github: world.writer });

    await hostCall(gateway, run, "push_commit", pushArguments(publishedChanges));

    expect(world.sent).toMatchObject([
      {
        tool: "push_commit",
        branch: runBranch,
        expectedSha: null,
        runId: run.runId,
        changes: publishedChanges.changes,
      },
    ]);
  });

  const pathName = fc.constantFrom(...names.hostile, ...names.legitimate, ...names.lookAlike);
  const spelled = fc
    .tuple(fc.array(pathName, { minLength: 1, maxLength: 3 }), fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }))
    .map(([parts, choices]) => parts.map((part) => disguise(part, choices)));
  const pushes = fc.record({
    paths: fc.uniqueArray(spelled, { minLength: 1, maxLength: 4, selector: (parts) => parts.join("/") }),
    approvals: fc.infiniteStream(fc.boolean()).map((stream) => Array.from({ length: 4 }, () => stream.next().value)),
  });

  /** From the design alone: one path that may not be pushed keeps all of them back. */
  function expected(verdicts: readonly Verdict[], approvals: readonly boolean[]): string {
    const isHeld = (verdict: Verdict, at: number): boolean =>
      verdict === "floor" || (verdict === "dangerous" && approvals[at] !== true);
    return verdicts.some(isHeld) ? "denied" : "succeeded";
  }

  it("whatever paths it names and whoever approved them, it is decided as the design's own table says", async () => {
    const seen = { denied: 0, succeeded: 0 };
    const run = await gateway.newRun(null, { approvalChannel: "none" });
    await fc.assert(
      fc.asyncProperty(pushes, async ({ paths, approvals }) => {
        const changeSet = aChangeSet(...paths.map((parts) => parts.join("/")));
        const approved = new Set(changeSet.changes.filter((_, at) => approvals[at]).map(({ path }) => path));
        const { writer, sent } = createGithubWorld();
        const isPathApproved = (path: string): boolean => approved.has(path);
        const context = { ...run, github: writer, publishing: { changeSet: passed(changeSet) }, isPathApproved };

        const { state } = await hostCall(gateway, context, "push_commit", pushArguments(changeSet));

        seen[state as keyof typeof seen] += 1;
        expect(state).toBe(expected(paths.map(oracle), approvals));
        expect(sent).toHaveLength(state === "succeeded" ? 1 : 0);
      }),
      { numRuns: 150 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(15);
  });

  it("decides a thousand paths, and refuses more", async () => {
    const paths = Array.from(
      { length: 1_001 },
      (_, index) => `src/${"deep/".repeat(10)}file-${`${index}`.padStart(4, "0")}.ts`,
    );

    const most = await push(paths.slice(1));
    const more = await push(paths);

    expect(most.outcome.state).toBe("succeeded");
    expect(most.outcome.decision?.requests).toHaveLength(1_001);
    expect(more.outcome).toMatchObject({ state: "invalid", refusal: { code: "invalid_arguments" } });
  });
});

type TestChangeSet = NonNullable<RunContext["publishing"]>["changeSet"];
