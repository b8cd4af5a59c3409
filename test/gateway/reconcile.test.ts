import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError, type JsonObject } from "../../src/domain/index.ts";
import { createCatalogue, perform } from "../../src/gateway/index.ts";
import { aHostsCall, hostCall, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { createGithubWorld, type Fault, type Sight, seedFor, standing } from "../support/github-world.ts";
import { sampleArguments } from "../support/sample-arguments.ts";

const tools = [...createCatalogue().values()].filter(({ place }) => place === "github").map(({ name }) => name);
const firstSample = (tool: string): JsonObject => sampleArguments(tool)[0] as JsonObject;
const begun = ["proposed", "authorized", "intent_recorded", "started"];
const comment = { issue: 7, body: "planted words" };

describe("a lost answer", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  async function aWorld(tool: string, faults: readonly Fault[], sights: readonly Sight[] = []) {
    const world = seedFor(createGithubWorld(faults, sights), tool);
    return { world, run: await gateway.newRun(null, { github: world.writer }) };
  }

  /** What stands after the write was simply done. */
  async function standingAfter(tool: string): Promise<JsonObject> {
    const { world, run } = await aWorld(tool, []);
    await hostCall(gateway, run, tool, firstSample(tool));
    return standing(world);
  }

  it.each(tools)("%s that was done: found by looking, and not sent again (C-1)", async (tool) => {
    const { world, run } = await aWorld(tool, ["lost_after"]);
    const expected = await standingAfter(tool);

    const outcome = await hostCall(gateway, run, tool, firstSample(tool));
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "reconciled_applied", status: "ok", refusal: null });
    expect([world.sent.length, world.looks.length]).toEqual([1, 1]);
    expect(standing(world)).toEqual(expected);
    expect(again.states).toEqual([...begun, "unknown", "reconciling", "reconciled_applied"]);
    expect(again.action.event).toMatchObject({ allowed: true, outcome: "ok" });
    expect(JSON.parse(again.texts.result ?? "")).toEqual({ text: outcome.text, record: outcome.record });
    expect(again.verification.findings).toEqual([]);
  });

  it.each(tools)("%s that was not done: looked for, then sent once more under the same key (AUD-65)", async (tool) => {
    const { world, run } = await aWorld(tool, ["lost_before"]);
    const expected = await standingAfter(tool);

    const outcome = await hostCall(gateway, run, tool, firstSample(tool));
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "succeeded", status: "ok", refusal: null });
    expect([world.sent.length, world.looks.length]).toEqual([2, 1]);
    expect(world.sent[1]).toEqual(world.sent[0]);
    expect(standing(world)).toEqual(expected);
    const secondTry = ["unknown", "reconciling", "reconciled_not_applied", "started", "succeeded"];
    expect(again.states).toEqual([...begun, ...secondTry]);
    expect(again.action.states.map(({ try: number }) => number)).toEqual([null, null, null, 1, 1, 1, 1, 2, 2]);
    expect(again.verification.findings).toEqual([]);
  });

  it("is looked for since the intent, with cause, recipe and round on record, and no word of the comment", async () => {
    const { world, run } = await aWorld("create_comment", ["lost_after"], ["blind"]);

    const { actionId } = await hostCall(gateway, run, "create_comment", comment);
    const { action } = await gateway.readAgain(actionId);

    const intent = action.states.find(({ state }) => state === "intent_recorded");
    expect(world.looks.map(({ sinceIso }) => sinceIso)).toEqual([intent?.time, intent?.time]);
    const recipe = intent?.evidence["reconcileRecipe"];
    expect(action.states.slice(4)).toMatchObject([
      { state: "unknown", try: 1, evidence: { cause: "reset", errorCode: "GITHUB_UNAVAILABLE" } },
      { state: "reconciling", try: 1, evidence: { recipe, round: 1 } },
      { state: "reconcile_inconclusive", try: 1, evidence: { recipe, round: 1, github: { reads: 2 } } },
      { state: "reconciling", try: 1, evidence: { recipe, round: 2 } },
      { state: "reconciled_applied", try: 1, evidence: { recipe, round: 2, result: { comment_id: 500 } } },
    ]);
    expect(JSON.stringify(action)).not.toContain("planted");
  });

  it("three rounds that tell nothing end it for a person: unknown, and open (AUD-65)", async () => {
    const waits: number[] = [];
    const { world, run } = await aWorld("create_comment", ["lost_after"], ["blind", "fails", "blind"]);
    const deps: TestGateway["deps"] = {
      ...gateway.deps,
      delay: (waitMs) => {
        waits.push(waitMs);
        return Promise.resolve();
      },
    };

    const outcome = await perform(deps, run, aHostsCall(run, "create_comment", comment), never);
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "reconcile_inconclusive", status: "unknown", refusal: null });
    expect(outcome.text).toMatch(/^unknown: .*a person must look/);
    expect([world.sent.length, world.looks.length, world.comments.length]).toEqual([1, 3, 1]);
    const round = ["reconciling", "reconcile_inconclusive"];
    expect(again.states).toEqual([...begun, "unknown", ...round, ...round, ...round]);
    expect(again.action.event.outcome).toBe("unknown");
    expect(waits).toEqual([5_000, 15_000]);
    expect(again.verification.findings).toEqual([]);
  });

  it("three tries that were not done end it as not applied", async () => {
    const { world, run } = await aWorld("create_comment", ["lost_before", "lost_before", "lost_before"]);

    const outcome = await hostCall(gateway, run, "create_comment", comment);
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({
      state: "reconciled_not_applied",
      status: "failed",
      refusal: { code: "github_failed" },
      record: { error_code: "GITHUB_UNAVAILABLE" },
    });
    expect([world.sent.length, world.looks.length, world.comments.length]).toEqual([3, 3, 0]);
    expect(again.action.states.at(-1)?.try).toBe(3);
    expect(again.action.event.outcome).toBe("error:not_applied");
    expect(again.verification.findings).toEqual([]);
  });

  it("a second try that GitHub refuses is refused, with the try it was", async () => {
    const { run } = await aWorld("create_comment", ["lost_before", "refused"]);

    const outcome = await hostCall(gateway, run, "create_comment", comment);
    const { action } = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "failed_definite", record: { error_code: "GITHUB_RULE" } });
    expect(action.states.at(-1)).toMatchObject({ state: "failed_definite", try: 2 });
  });

  describe("of a run that is being stopped", () => {
    const reason = new CountersignError("ABORTED", "stopped by a person");

    /** The run is stopped at the n-th look, or while it waits for the next one. */
    async function stoppedAt(place: "write" | "look" | "wait") {
      const stop = new AbortController();
      const { world, run } = await aWorld("create_comment", ["lost_after"], ["blind", "blind"]);
      const end = (): void => stop.abort(reason);
      const github: typeof world.writer = {
        write: async (...parts) => {
          const outcome = await world.writer.write(...parts);
          if (place === "write") end();
          return outcome;
        },
        look: (...parts) => {
          if (place === "look") end();
          return world.writer.look(...parts);
        },
      };
      const deps: TestGateway["deps"] = {
        ...gateway.deps,
        delay: (_waitMs, signal) => {
          end();
          signal.throwIfAborted();
          return Promise.resolve();
        },
      };
      const proposed = aHostsCall(run, "create_comment", comment);
      await expect(perform(deps, { ...run, github }, proposed, stop.signal)).rejects.toBe(reason);
      return { world, again: await gateway.readAgain(proposed.actionId) };
    }

    it.each([
      { place: "write", states: ["unknown"] },
      { place: "look", states: ["unknown", "reconciling", "reconcile_inconclusive"] },
      { place: "wait", states: ["unknown", "reconciling", "reconcile_inconclusive"] },
    ] as const)("at the $place stays open and is never called done (AUD-6)", async ({ place, states }) => {
      const { world, again } = await stoppedAt(place);

      expect(again.states).toEqual([...begun, ...states]);
      expect(again.action.event.outcome).toBe("unknown");
      expect(world.sent).toHaveLength(1);
      expect(again.verification.findings).toEqual([]);
    });
  });

  it("a bug of the writer leaves it unknown, and goes on to the caller", async () => {
    const { world, run } = await aWorld("create_comment", ["throws"]);
    const proposed = aHostsCall(run, "create_comment", comment);

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toThrow("a bug of the writer");
    const again = await gateway.readAgain(proposed.actionId);

    expect(again.states).toEqual([...begun, "unknown"]);
    expect(world.looks).toEqual([]);
  });
});
