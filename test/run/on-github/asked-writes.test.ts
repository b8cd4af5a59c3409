import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordExpiry, recordPersonsAnswer } from "../../../src/gateway/index.ts";
import { noRepositoryPolicies } from "../../../src/policy/index.ts";
import { reconcileAll, takeUpAsked, unknownWrites, writeAsHost } from "../../../src/run/on-github/host-actions.ts";
import { putQuestions, waitingQuestions } from "../../../src/run/on-github/put-questions.ts";
import { tellAnswers } from "../../../src/run/on-github/tell-answers.ts";
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
    askApproval: null,
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

describe("a write that a person is asked about", () => {
  it("is left to its answer by who looks for writes that were cut off (AUD-6)", async () => {
    const { world, run, deps, job, answer, takeUp } = await openWorld();
    await reconcileAll(deps, job, never);
    const waiting = await takeUp();
    await answer("granted");
    await reconcileAll(deps, job, never);

    expect([waiting?.kind, await unknownWrites(deps, run)]).toEqual(["waiting", []]);
    expect(await takeUp()).toMatchObject({ kind: "done" });
    expect(world.sent.map(({ tool }) => tool)).toEqual(["push_commit"]);
  });
});

describe("a write of publishing that the person at the terminal must allow (AUD-28, AUD-39)", () => {
  it.each([
    { isGranted: true, ended: { kind: "done" }, sent: ["push_commit"] },
    { isGranted: false, ended: { kind: "not_done", code: "approval_denied" }, sent: [] },
  ])("is asked about there, and done with a yes alone: $isGranted", async ({ isGranted, ended, sent }) => {
    const { world, run, deps } = await openWorld();
    const before = world.sent.length;
    const askApproval = () => Promise.resolve({ isGranted, reason: "" });
    const args = sampleArguments("push_commit")[0] ?? {};
    const atTerminal = { ...run, approvalChannel: "terminal" } as const;

    const written = await writeAsHost({ ...deps, askApproval }, atTerminal, { tool: "push_commit", args }, never);

    expect(written).toMatchObject(ended);
    expect(world.sent.slice(before).map(({ tool }) => tool)).toEqual(sent);
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

describe("the comment of a question that is answered (AUD-34, AUD-39)", () => {
  const edits = ({ world }: Awaited<ReturnType<typeof openWorld>>) =>
    world.sent.filter(({ tool }) => tool === "update_comment");
  const bodyOf = ({ world }: Awaited<ReturnType<typeof openWorld>>) => world.comments.at(-1)?.body ?? "";
  const tell = ({ deps, job }: Awaited<ReturnType<typeof openWorld>>, isOver = false) =>
    tellAnswers(deps, job, { isOver }, never);
  async function openPut(faults: readonly Fault[] = []) {
    const opened = await openWorld(faults);
    await putQuestions(opened.deps, opened.job, never);
    return opened;
  }

  it("says who answered and when, once, and no longer how to answer", async () => {
    const opened = await openPut();
    await tell(opened);
    const untouched = edits(opened).length;
    await opened.answer("granted");
    await tell(opened);
    await opened.takeUp();
    await tell(opened);
    await tell(opened, true);

    expect([untouched, edits(opened).length]).toEqual([0, 1]);
    expect(bodyOf(opened)).toMatch(/\*\*Allowed\*\* by `ada` at `20/);
    expect(bodyOf(opened)).toContain("to publish 2 files");
    expect(bodyOf(opened)).not.toContain("/countersign");
  });

  it("says so after a no, once its time is over, and where the run ends without an answer", async () => {
    const [refused, expired, dropped] = [await openPut(), await openPut(), await openPut()];
    await refused.answer("refused");
    await tell(refused);
    await tell(dropped, true);
    gateway.log.now.ms += approvalMs;
    await recordExpiry(expired.deps, { ...expired.question, run: expired.run }, () => Promise.resolve());
    await tell(expired);

    expect(bodyOf(refused)).toContain("**Refused** by `ada` at");
    expect(bodyOf(expired)).toContain(`**Expired**: nobody answered until \`${expired.question.expiresAt}\``);
    expect(bodyOf(dropped)).toContain("**No longer asked**");
  });

  it("says of a yes that came to nothing why it did (AUD-35)", async () => {
    const opened = await openPut();
    await opened.answer("granted");
    await tell(opened);
    const authorize: RunDeps["policies"]["authorize"] = (...asked) => ({
      ...opened.deps.policies.authorize(...asked),
      policySetDigest: "another",
    });
    const changed = { ...opened.deps, policies: { ...opened.deps.policies, authorize } };
    await takeUpAsked(changed, opened.run, "push_commit", never);
    await tell(opened);

    expect(edits(opened)).toHaveLength(2);
    expect(bodyOf(opened)).toContain("It was not done: what was asked about had changed since.");
  });

  it.each([1, 2, 3])("is edited once where its worker ends at entry %i of the edit (GH-46)", async (cutAt) => {
    const opened = await openPut();
    await opened.answer("granted");
    let appends = 0;
    const append: RunDeps["ledger"]["append"] = (...batch) => {
      appends += 1;
      return appends === cutAt ? Promise.reject(new Error("cut off")) : opened.deps.ledger.append(...batch);
    };
    const cut = { ...opened.deps, ledger: { ...opened.deps.ledger, append } };
    await expect(tellAnswers(cut, opened.job, { isOver: false }, never)).rejects.toThrow("cut off");

    await reconcileAll(opened.deps, opened.job, never);
    await tell(opened);
    await tell(opened);

    expect(edits(opened)).toHaveLength(1);
    expect(bodyOf(opened)).toContain("**Allowed** by `ada`");
  });

  it("is not edited a second time where GitHub refused it", async () => {
    const opened = await openPut(["none", "refused"]);
    await opened.answer("granted");
    await tell(opened);
    await tell(opened);

    expect(edits(opened)).toHaveLength(1);
    expect(bodyOf(opened)).toContain("To allow exactly this, once");
  });
});
