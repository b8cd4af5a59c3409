import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { argumentsDigest, canonicalBytes, type JsonObject } from "../../src/domain/index.ts";
import { answerApproval, createCatalogue, perform } from "../../src/gateway/index.ts";
import { githubWrites } from "../../src/github/index.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import {
  aCall,
  aHostsCall,
  approvalOf,
  aYes,
  hostCall,
  never,
  openTestGateway,
  type TestGateway,
} from "../support/gateway.ts";
import { createGithubWorld, seedFor, standing } from "../support/github-world.ts";
import { aSha, runBranch, sampleArguments } from "../support/sample-arguments.ts";

const tools = [...createCatalogue().values()].filter(({ place }) => place === "github").map(({ name }) => name);
const firstSample = (tool: string): JsonObject => sampleArguments(tool)[0] as JsonObject;
const executed = ["proposed", "authorized", "intent_recorded", "started"];

describe("a write to GitHub", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("is an action for each row of the table of natural keys, and for nothing else (AUD-61)", () => {
    expect(tools.toSorted()).toEqual(Object.keys(githubWrites).toSorted());
  });

  it.each(tools)("%s: decided, durable, sent once, and what stands is told (AUD-4)", async (tool) => {
    const world = seedFor(createGithubWorld(), tool);
    const run = await gateway.newRun(null, { github: world.writer });
    const args = firstSample(tool);

    const outcome = await hostCall(gateway, run, tool, args);
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "succeeded", status: "ok", refusal: null, changeSet: null });
    expect(outcome.record).toMatchObject({ status: "ok", error_code: null, result: expect.any(Object) });
    expect(world.sent.map((write) => write.tool)).toEqual([tool]);
    expect(world.looks).toEqual([]);
    expect(again.states).toEqual([...executed, "succeeded"]);
    expect(again.transactionCount).toBe(3);
    expect(again.action).toMatchObject({ decision: "allow", policy_ids: ["publishing"] });
    expect(again.action.event).toMatchObject({ actor: "system", allowed: true, outcome: "ok" });
    expect(again.verification.findings).toEqual([]);
  });

  it.each(tools)("%s: says in its intent how it would be found again, with no word of its arguments", async (tool) => {
    const world = seedFor(createGithubWorld(), tool);
    const run = await gateway.newRun(null, { github: world.writer });
    const args = firstSample(tool);

    const { actionId } = await hostCall(gateway, run, tool, args);
    const again = await gateway.readAgain(actionId);
    const intent = again.action.states.find(({ state }) => state === "intent_recorded")?.evidence;

    const row = githubWrites[tool as keyof typeof githubWrites];
    expect(intent).toMatchObject({
      reconcileRecipe: row.recipe,
      precondition: row.precondition,
      idempotencyKey: expect.stringMatching(/^sha256-nonce:[0-9a-f]{64}$/),
      expectedSha: args["expected_sha"] ?? null,
      deadlineMs: 30_000,
      effectKind: "publish",
    });
    expect(JSON.parse(again.texts.intent ?? "")).toMatchObject({ naturalKey: expect.any(String) });
    expect(again.action.arguments_digest).toBe(
      argumentsDigest(run.runKey, canonicalBytes(JSON.parse(again.texts.arguments ?? ""))),
    );
  });

  it.each(tools)("%s: refused by GitHub is an outcome with GitHub's reason as a code, not a throw", async (tool) => {
    const world = seedFor(createGithubWorld(["refused"]), tool);
    const before = standing(world);
    const run = await gateway.newRun(null, { github: world.writer });

    const outcome = await hostCall(gateway, run, tool, firstSample(tool));
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "failed_definite", status: "failed", refusal: { code: "github_failed" } });
    expect(outcome.record).toMatchObject({ code: "github_failed", error_code: "GITHUB_RULE", result: {} });
    expect(outcome.refusal?.received).toContain("GITHUB_RULE");
    expect(outcome.text).not.toContain("planted");
    expect(again.states).toEqual([...executed, "failed_definite"]);
    expect(again.action.event).toMatchObject({ allowed: true, outcome: "error:GITHUB_RULE" });
    expect(JSON.parse(again.texts.result ?? "")).toEqual({ text: outcome.text, record: outcome.record });
    expect([world.sent.length, world.looks.length]).toEqual([1, 0]);
    expect(standing(world)).toEqual(before);
    expect(again.verification.findings).toEqual([]);
  });

  it.each(tools)("%s: a run that proposes it has no such tool, and the floor denies it as well", async (tool) => {
    const world = createGithubWorld();
    const run = await gateway.newRun(createFakeWorkspace({}), { github: world.writer });
    const proposed = aCall(run, tool, firstSample(tool));
    const request = { ...requestOf(tool, run), principal: { kind: "run", runId: run.runId } } as const;

    const outcome = await perform(gateway.deps, run, proposed, never);
    const decision = gateway.policies.authorize([request], run.repositoryPolicies);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "unknown_tool" }, decision: null });
    expect(decision).toMatchObject({ effect: "deny", policyIds: ["floor:github_write"] });
    expect(world.sent).toEqual([]);
  });

  const requestOf = (tool: string, run: Awaited<ReturnType<TestGateway["newRun"]>>) => ({
    requestedBy: run.requester,
    tool,
    group: "publish" as const,
    risk: "RESTRICTED" as const,
    repository: run.repository,
    runId: run.runId,
    approved: true,
    runState: "in_progress" as const,
    attempt: 0,
    budgetLeft: run.budgetLeft(),
    effects: ["publish"],
    path: null,
    input: { branch: runBranch },
    runBranch,
  });

  it.each(["push_commit", "open_pull_request", "delete_branch"])(
    "%s: another branch than the run's is denied",
    async (tool) => {
      const world = createGithubWorld();
      const run = await gateway.newRun(null, { github: world.writer });
      const branches = ["main", "countersign/issue-7-ffffffff", `${runBranch}/x`, runBranch.toUpperCase()];

      for (const branch of branches) {
        const outcome = await hostCall(gateway, run, tool, { ...firstSample(tool), branch });

        expect(outcome).toMatchObject({ state: "denied", decision: { policyIds: ["floor:foreign_branch"] } });
      }
      const without = await hostCall(gateway, { ...run, runBranch: null }, tool, firstSample(tool));

      expect(without).toMatchObject({ state: "denied", decision: { policyIds: ["floor:foreign_branch"] } });
      expect(world.sent).toEqual([]);
    },
  );

  it.each(tools)("%s: nothing is published for a person who may only read", async (tool) => {
    const world = createGithubWorld();
    const requester = { id: "1001", login: "ada", permission: "read" } as const;
    const run = await gateway.newRun(null, { github: world.writer, requester });

    expect(await hostCall(gateway, run, tool, firstSample(tool))).toMatchObject({ state: "denied" });
    expect(world.sent).toEqual([]);
  });

  it("by approval, where a policy asks for one, is made after the yes", async () => {
    const world = createGithubWorld();
    const run = await gateway.newRun(null, { github: world.writer });
    const deps: TestGateway["deps"] = {
      ...gateway.deps,
      authorize: (requests, policies) => {
        const decision = gateway.policies.authorize(requests, policies);
        return requests.every(({ approved }) => approved) ? decision : { ...decision, effect: "require_approval" };
      },
    };
    const proposed = aHostsCall(run, "open_pull_request", firstSample("open_pull_request"));
    const unasked = aHostsCall(run, "add_label", firstSample("add_label"));

    const asked = await perform(deps, run, proposed, never);
    const none = await perform(deps, { ...run, approvalChannel: "none" }, unasked, never);
    expect(world.sent).toEqual([]);
    const answered = await answerApproval(deps, run, approvalOf(asked), aYes, never);

    expect(asked).toMatchObject({ state: "approval_pending" });
    expect(none).toMatchObject({ state: "denied", refusal: { code: "approval_unavailable" } });
    expect(answered).toMatchObject({ state: "succeeded", status: "ok" });
    expect(world.pullRequests).toHaveLength(1);
  });

  it("of a run whose time is used up is made all the same: GitHub is told so", async () => {
    const world = createGithubWorld();
    const budgetLeft = () => ({ steps: 0, tokens: 0, seconds: 0 });
    const run = await gateway.newRun(null, { github: world.writer, budgetLeft });

    expect(await hostCall(gateway, run, "create_comment", { issue: 7, body: "out of time" })).toMatchObject({
      status: "ok",
    });
  });

  it("without a GitHub is a bug, on record and with no effect", async () => {
    const run = await gateway.newRun(null, { github: null });
    const proposed = aHostsCall(run, "create_comment", { issue: 7, body: "hello" });

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toThrow("without a GitHub");
    const again = await gateway.readAgain(proposed.actionId);

    expect(again.states).toEqual(["proposed", "cancelled"]);
    expect(again.verification.findings).toEqual([]);
  });

  it("and an action in the checkout can't be mixed up: a run without a checkout reads none", async () => {
    const run = await gateway.newRun(null);
    const proposed = aCall(run, "read_file", { path: "src/a.ts" });

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toThrow("without one");
    expect((await gateway.readAgain(proposed.actionId)).states).toEqual(["proposed", "cancelled"]);
  });

  it.each([
    ["add_reaction", { content: "eyes" }],
    ["add_reaction", { issue: 7, comment: 1, content: "eyes" }],
    ["add_reaction", { issue: 7, content: "heart" }],
    ["create_comment", { issue: 0, body: "x" }],
    ["create_comment", { issue: 7, body: "" }],
    ["create_comment", { issue: 7, body: "x".repeat(65_537) }],
    ["set_check_run", { ...firstSample("set_check_run"), head_sha: "main" }],
    ["delete_branch", { branch: runBranch, expected_sha: null }],
    ["push_commit", { ...firstSample("push_commit"), changes: [] }],
    ["push_commit", { ...firstSample("push_commit"), changes: [{ path: "a", mode: "160000", blob_sha: aSha("5") }] }],
    ["push_commit", { ...firstSample("push_commit"), changes: [{ path: "a", mode: "100644", blob_sha: null }] }],
    ["push_commit", { ...firstSample("push_commit"), force: true }],
  ])("%s: arguments that don't fit are refused before any decision: %j", async (tool, args) => {
    const world = createGithubWorld();
    const run = await gateway.newRun(null, { github: world.writer });

    const outcome = await hostCall(gateway, run, tool, args);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "invalid_arguments" }, decision: null });
    expect(world.sent).toEqual([]);
  });

  it("keeps the requests of a large commit whole, sealed, and their end in the entry (AUD-10, AUD-41)", async () => {
    const steps = Array.from({ length: 400 }, (_, index) => ({
      request: "POST /git/blobs",
      request_id: `AB12:${index}`,
    }));
    const { writer } = createGithubWorld();
    const github = {
      ...writer,
      write: () => Promise.resolve({ kind: "applied", result: {}, evidence: { steps } } as const),
    };
    const run = await gateway.newRun(null, { github });

    const { actionId } = await hostCall(gateway, run, "push_commit", firstSample("push_commit"));
    const again = await gateway.readAgain(actionId);

    expect(again.action.states.at(-1)?.evidence["github"]).toEqual({ steps: steps.slice(-20), stepsOmittedCount: 380 });
    expect(JSON.parse(again.texts.exchange ?? "")).toMatchObject({ github: { steps } });
    expect(again.verification.findings).toEqual([]);
  });
});

it("each entry of an action has the ids of run, take-over, try, delivery, trace and proposal (AUD-10)", async () => {
  await using gateway = await openTestGateway();
  const run = await gateway.newRun(null, { attempt: 2, deliveryId: "d-1", github: createGithubWorld().writer });

  const { actionId } = await hostCall(gateway, run, "create_comment", { issue: 7, body: "at work" });

  const rows = await gateway.store.db
    .selectFrom("ledger_entries")
    .select(["id", "run_id", "attempt", "try", "delivery_id", "trace_id", "parent_id", "state"])
    .where("action_id", "=", actionId)
    .orderBy("index")
    .execute();
  const [proposal, ...later] = rows;
  const common = { run_id: run.runId, attempt: 2, delivery_id: "d-1", trace_id: run.traceId };
  expect(proposal).toMatchObject({ ...common, try: null, parent_id: null });
  expect(later.map(({ state }) => state)).toEqual([null, "authorized", "intent_recorded", "started", "succeeded"]);
  for (const entry of later) expect(entry).toMatchObject({ ...common, parent_id: proposal?.id });
  expect(later.map((entry) => entry.try)).toEqual([null, null, null, 1, 1]);
});
