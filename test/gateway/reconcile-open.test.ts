import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ActionId,
  type ActionOutcome,
  CountersignError,
  type JsonObject,
  statesAtRest,
} from "../../src/domain/index.ts";
import {
  createCatalogue,
  perform,
  type RecoveryDeps,
  type RunContext,
  reconcileOpen,
} from "../../src/gateway/index.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { aHostsCall, call, interceptedLedger, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import {
  createGithubWorld,
  type Fault,
  type GithubWorld,
  type Sight,
  seedFor,
  standing,
} from "../support/github-world.ts";
import { sampleArguments } from "../support/sample-arguments.ts";

const tools = [...createCatalogue().values()].filter(({ place }) => place === "github").map(({ name }) => name);
const firstSample = (tool: string): JsonObject => sampleArguments(tool)[0] as JsonObject;
const death = () => new CountersignError("LEDGER_UNAVAILABLE", "the process ended here");

describe("a write to GitHub whose worker is gone (AUD-6, AUD-8)", () => {
  let gateway: TestGateway;
  let recovery: RecoveryDeps;
  beforeAll(async () => {
    gateway = await openTestGateway();
    recovery = { ...gateway.deps, store: gateway.store, keys: gateway.log.keys };
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  type Crashed = { readonly world: GithubWorld; readonly run: RunContext; readonly actionId: ActionId };

  /** The process ends in the place of its n-th append (from 1). */
  async function crash(tool: string, append: number, faults: readonly Fault[] = []): Promise<Crashed> {
    const world = seedFor(createGithubWorld(faults), tool);
    const run = await gateway.newRun(null, { github: world.writer });
    const proposed = aHostsCall(run, tool, firstSample(tool));
    const ledger = interceptedLedger(gateway.deps.ledger, (count) =>
      count >= append ? Promise.reject(death()) : Promise.resolve(),
    );
    await expect(perform({ ...gateway.deps, ledger }, run, proposed, never)).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
    });
    // Who takes over has the run and its branch, and no bytes to publish.
    return { world, run: { ...run, attempt: 1, publishing: null }, actionId: proposed.actionId };
  }

  it.each(tools)("%s was done before its outcome was durable: found, not done twice", async (tool) => {
    const { world, run, actionId } = await crash(tool, 3);
    const expected = standing(world);

    const outcome = await reconcileOpen(recovery, run, actionId, never);
    const again = await gateway.readAgain(actionId);

    expect(outcome).toMatchObject({ actionId, tool, state: "reconciled_applied", status: "ok" });
    expect(outcome.record).toMatchObject({ result: expect.any(Object), error_code: null });
    expect(again.states.slice(3)).toEqual(["started", "unknown", "reconciling", "reconciled_applied"]);
    expect(again.action.states.at(-3)?.evidence).toMatchObject({ cause: "crash" });
    expect(again.action.states.map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect(outcome.argumentsDigest).toBe(again.action.arguments_digest);
    expect(standing(world)).toEqual(expected);
    expect(world.sent).toHaveLength(1);
    expect(again.verification.findings).toEqual([]);
  });

  it.each(tools)("%s was never done: said so, and nothing is sent by looking", async (tool) => {
    const { world, run, actionId } = await crash(tool, 3, ["lost_before"]);

    const outcome = await reconcileOpen(recovery, run, actionId, never);
    const again = await gateway.readAgain(actionId);

    expect(outcome).toMatchObject({ state: "reconciled_not_applied", status: "failed" });
    expect(outcome.refusal?.code).toBe("github_failed");
    expect(again.action.event.outcome).toBe("error:not_applied");
    expect(world.sent).toHaveLength(1);
    expect(again.verification.findings).toEqual([]);
  });

  it.each([
    { append: 4, left: "unknown", steps: ["reconciling", "reconciled_applied"] },
    { append: 5, left: "reconciling", steps: ["reconcile_inconclusive", "reconciling", "reconciled_applied"] },
  ])("left $left, goes on from there", async ({ append, left, steps }) => {
    const { run, actionId } = await crash("push_commit", append, ["lost_after"]);
    expect((await gateway.readAgain(actionId)).states.at(-1)).toBe(left);

    const outcome = await reconcileOpen(recovery, run, actionId, never);
    const again = await gateway.readAgain(actionId);

    expect(outcome).toMatchObject({ state: "reconciled_applied", status: "ok" });
    expect(again.states.slice(-steps.length)).toEqual(steps);
    const rounds = again.action.states
      .filter(({ state }) => state === "reconciling")
      .map(({ evidence }) => evidence["round"]);
    expect(rounds).toEqual(rounds.map((_, index) => index + 1));
    expect(again.verification.findings).toEqual([]);
  });

  it("not yet started is cancelled: the crash came before the effect", async () => {
    const { world, run, actionId } = await crash("create_comment", 2);

    const outcome = await reconcileOpen(recovery, run, actionId, never);
    const again = await gateway.readAgain(actionId);

    expect(outcome).toMatchObject({ state: "cancelled", status: "refused", refusal: { code: "not_executed" } });
    expect(again.states).toEqual(["proposed", "cancelled"]);
    expect(again.action.event.outcome).toBe("cancelled:crash");
    expect([world.sent.length, world.looks.length]).toEqual([0, 0]);
    expect(again.verification.findings).toEqual([]);
  });

  it.each([
    { faults: [], state: "succeeded", status: "ok" },
    { faults: ["lost_after"], state: "reconciled_applied", status: "ok" },
    { faults: ["refused"], state: "failed_definite", status: "failed" },
  ] as const)(
    "at rest as $state tells its recorded outcome again, and looks at nothing",
    async ({ faults, ...rest }) => {
      const world = createGithubWorld(faults);
      const run = await gateway.newRun(null, { github: world.writer });
      const done = await perform(
        gateway.deps,
        run,
        aHostsCall(run, "create_comment", firstSample("create_comment")),
        never,
      );
      const looks = world.looks.length;

      const told = await reconcileOpen(recovery, run, done.actionId, never);

      expect(told).toMatchObject({ ...rest, text: done.text, refusal: done.refusal });
      expect(told.record).toEqual({ ...done.record, replayed: true });
      expect([world.sent.length, world.looks.length]).toEqual([1, looks]);
    },
  );

  it("that a person must look at is looked at once more by whoever takes over, and no oftener", async () => {
    const world = createGithubWorld(["lost_after"], ["blind", "blind", "blind", "blind"]);
    const run = await gateway.newRun(null, { github: world.writer });
    const first = await perform(
      gateway.deps,
      run,
      aHostsCall(run, "create_comment", firstSample("create_comment")),
      never,
    );

    const second = await reconcileOpen(recovery, run, first.actionId, never);
    const third = await reconcileOpen(recovery, run, first.actionId, never);

    expect([first.status, second.status, third.status]).toEqual(["unknown", "unknown", "ok"]);
    expect(world.looks).toHaveLength(5);
    expect((await gateway.readAgain(first.actionId)).verification.findings).toEqual([]);
  });

  it("stays open where the look is stopped", async () => {
    const { run, actionId } = await crash("create_comment", 3);
    const reason = new CountersignError("ABORTED", "stopped");

    await expect(reconcileOpen(recovery, run, actionId, AbortSignal.abort(reason))).rejects.toBe(reason);

    expect((await gateway.readAgain(actionId)).states.at(-1)).toBe("unknown");
  });

  it("is told apart from work in the checkout, which is settled by dropping it", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));
    const { actionId } = await call(gateway, run, "create_file", { path: "a", content: "" });

    await expect(reconcileOpen(recovery, run, actionId, never)).rejects.toThrow("no write to GitHub");
  });

  const fault = fc.constantFrom<Fault>("none", "lost_before", "lost_after", "refused");
  const sight = fc.constantFrom<Sight>("clear", "clear", "blind", "fails");
  const plan = fc.record({
    tool: fc.constantFrom("push_commit", "open_pull_request", "create_comment"),
    faults: fc.array(fault, { maxLength: 6 }),
    sights: fc.array(sight, { maxLength: 6 }),
    /** Appends after which the process ends; the next one takes over. */
    crashes: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
  });

  it("whatever is lost and whenever the process ends, is there once at most, and the ledger says so", async () => {
    let stood = 0;
    let lastId: ActionId | null = null;
    await fc.assert(
      fc.asyncProperty(plan, async ({ tool, faults, sights, crashes }) => {
        const world = createGithubWorld(faults, sights);
        const run = await gateway.newRun(null, { github: world.writer });
        const outcome = await liveThrough(run, tool, crashes);
        lastId = outcome.actionId;

        const count = world.branches.size + world.pullRequests.length + world.comments.length;
        stood += count;
        expect(possible(outcome)).toContain(count);
      }),
      { numRuns: 40 },
    );
    expect(stood).toBeGreaterThan(10);
    expect((await gateway.readAgain(lastId ?? ("" as ActionId))).verification).toMatchObject({
      ok: true,
      findings: [],
    });
  });

  /** How often the effect may stand, by what the run was told. */
  function possible({ state, status }: ActionOutcome): readonly number[] {
    if (status === "ok") return [1];
    return statesAtRest.has(state) ? [0] : [0, 1];
  }

  /** A run as it goes on over its crashes: what is open is settled first, and only what does not stand is done anew. */
  async function liveThrough(run: RunContext, tool: string, crashes: readonly number[]): Promise<ActionOutcome> {
    let begun: ActionId | null = null;
    for (let life = 0; ; life += 1) {
      const end = crashes[life] ?? Number.POSITIVE_INFINITY;
      const ledger = interceptedLedger(gateway.deps.ledger, (count) =>
        count > end ? Promise.reject(death()) : Promise.resolve(),
      );
      try {
        if (begun !== null) {
          const settled: ActionOutcome = await reconcileOpen({ ...recovery, ledger }, run, begun, never);
          if (settled.status === "ok" || settled.status === "unknown") return settled;
        }
        const proposed = aHostsCall(run, tool, firstSample(tool));
        const known = begun;
        begun = proposed.actionId;
        return await perform({ ...gateway.deps, ledger }, run, proposed, never).catch(async (error: unknown) => {
          const [row] = await gateway.store.sql("select from actions where action_id = $1", [proposed.actionId]);
          if (row === undefined) begun = known; // it ended before the proposal was durable
          throw error;
        });
      } catch (error) {
        if (life >= crashes.length) throw error;
      }
    }
  }
});
