import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordExpiry, recordPersonsAnswer } from "../../../src/gateway/index.ts";
import { noRepositoryPolicies } from "../../../src/policy/index.ts";
import { takeUpAsked, writeAsHost } from "../../../src/run/on-github/host-actions.ts";
import { putQuestions, waitingQuestions } from "../../../src/run/on-github/put-questions.ts";
import type { RunDeps } from "../../../src/run/run-deps.ts";
import { approvalMs, never, openTestGateway, type TestGateway, type TestRun } from "../../support/gateway.ts";
import { createGithubWorld, type Fault } from "../../support/github-world.ts";
import { sampleArguments } from "../../support/sample-arguments.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A run at its publishing, whose policy lets a commit out with a person's yes alone. */
async function openWorld(faults: readonly Fault[] = []) {
  const world = createGithubWorld(faults);
  const run: TestRun = await gateway.newRun(null, { github: world.writer, approvalChannel: "github" });
  const authorize: RunDeps["policies"]["authorize"] = (requests, policies) => {
    const decision = gateway.policies.authorize(requests, policies);
    const isAsked = requests.some(({ tool, approved }) => tool === "push_commit" && !approved);
    return isAsked ? { ...decision, effect: "require_approval", policyIds: ["commits-by-approval"] } : decision;
  };
  const deps = {
    ...gateway.deps,
    store: gateway.store,
    keys: gateway.log.keys,
    policies: { ...gateway.policies, authorize },
    operator: { approvals: { expireAfterMinutes: approvalMs / 60_000 } },
    redactor: { redact: (text: string) => text },
    onEvent: () => undefined,
  } as unknown as RunDeps;
  const job = { row: { run_id: run.runId }, context: run, trigger: { item: { number: 7 } } } as never;
  const asked = await writeAsHost(
    deps,
    run,
    { tool: "push_commit", args: sampleArguments("push_commit")[0] ?? {} },
    never,
  );
  const [question] = await waitingQuestions(deps, run.runId);
  if (question === undefined) throw new Error("nobody was asked");
  const decision = gateway.policies.authorize([], noRepositoryPolicies);
  const approver = { id: "501", login: "ada", permission: "write" } as const;
  const answer = (kind: "granted" | "refused"): Promise<void> =>
    recordPersonsAnswer(
      deps,
      { ...question, run },
      { kind, approver, requestId: null, reason: "", deliveryId: "d", decision },
      () => Promise.resolve(),
    );
  return { world, run, deps, job, asked, question, answer, takeUp: () => takeUpAsked(deps, run, "push_commit", never) };
}

describe("a write of publishing that a person must allow (AUD-21, AUD-38)", () => {
  it("waits, and is made once with the yes", async () => {
    const { world, asked, answer, takeUp } = await openWorld();
    const before = await takeUp();
    await answer("granted");

    const after = await takeUp();
    const again = await takeUp();

    expect([asked.kind, before?.kind, after?.kind, again?.kind]).toEqual(["waiting", "waiting", "done", "done"]);
    expect(world.sent.map(({ tool }) => tool)).toEqual(["push_commit"]);
  });

  it("is not made after a no, and the run is told why", async () => {
    const { world, answer, takeUp } = await openWorld();
    await answer("refused");

    expect(await takeUp()).toMatchObject({ kind: "not_done", code: "approval_denied" });
    expect(world.sent).toEqual([]);
  });

  it("is not made once its time is over", async () => {
    const { world, run, deps, question, takeUp } = await openWorld();
    gateway.log.now.ms += approvalMs;
    await recordExpiry(deps, { ...question, run }, () => Promise.resolve());

    expect(await takeUp()).toMatchObject({ kind: "not_done", code: "approval_expired" });
    expect(world.sent).toEqual([]);
  });

  it("is asked about anew where the policies have changed since the yes", async () => {
    const { world, run, deps, answer } = await openWorld();
    await answer("granted");
    const authorize: RunDeps["policies"]["authorize"] = (...asked) => ({
      ...deps.policies.authorize(...asked),
      policySetDigest: "another",
    });

    const taken = await takeUpAsked({ ...deps, policies: { ...deps.policies, authorize } }, run, "push_commit", never);

    expect(taken).toBeNull();
    expect(world.sent).toEqual([]);
  });
});

describe("the comment of a question", () => {
  it("is made once, however often it is put", async () => {
    const { world, deps, job } = await openWorld();

    await putQuestions(deps, job, never);
    await putQuestions(deps, job, never);

    expect(world.comments.map(({ body }) => body)).toEqual([expect.stringContaining("to publish")]);
  });

  it("is not made a second time where GitHub refused it (GH-46)", async () => {
    const { world, deps, job } = await openWorld(["refused"]);

    await putQuestions(deps, job, never);
    await putQuestions(deps, job, never);

    expect(world.sent).toHaveLength(1);
  });
});
