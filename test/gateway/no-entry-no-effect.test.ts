import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError } from "../../src/domain/index.ts";
import { answerApproval, perform } from "../../src/gateway/index.ts";
import { readRunEntries } from "../../src/ledger/index.ts";
import { advisoryLocks, type Transaction } from "../../src/store/index.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import {
  aCall,
  aHostsCall,
  approvalOf,
  aYes,
  call,
  interceptedLedger,
  never,
  openTestGateway,
  type TestGateway,
} from "../support/gateway.ts";
import { createGithubWorld } from "../support/github-world.ts";
import { openTestStore } from "../support/test-store.ts";

const file = { path: "src/new.ts", content: "new" };
const outage = (): CountersignError => new CountersignError("LEDGER_UNAVAILABLE", "no answer from the database");

describe("no entry, no effect", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  /** The gateway with a ledger that can't do its n-th append. */
  const failingAt = (failing: number): TestGateway["deps"] => ({
    ...gateway.deps,
    ledger: interceptedLedger(gateway.deps.ledger, (count) =>
      count === failing ? Promise.reject(outage()) : Promise.resolve(),
    ),
  });

  it.each([
    { failing: 1, states: null, name: "the proposal" },
    { failing: 2, states: ["proposed"], name: "the intent" },
  ])("does nothing where $name can't be made durable", async ({ failing, states }) => {
    const workspace = createFakeWorkspace({ "src/a.ts": "a" });
    const run = await gateway.newRun(workspace);
    const proposed = [aCall(run, "create_file", file), aCall(run, "run_command", { command: "touch x" })];

    for (const one of proposed) {
      await expect(perform(failingAt(failing), run, one, never)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    }
    const entries = await readRunEntries(gateway.store, run.runId);

    expect([...workspace.files.keys()]).toEqual(["src/a.ts"]);
    expect(workspace.requests).toEqual([]);
    expect(run.recorded).toEqual([]);
    expect(entries.map(({ state }) => state)).toEqual(states === null ? [] : [...states, ...states]);
  });

  it.each([
    { failing: 1, states: [], sent: 0, name: "the proposal" },
    { failing: 2, states: ["proposed"], sent: 0, name: "the intent" },
    { failing: 3, states: ["proposed", "authorized", "intent_recorded", "started"], sent: 1, name: "the outcome" },
  ])("sends nothing to GitHub where $name can't be made durable, unless it was durable before", async (one) => {
    const world = createGithubWorld();
    const run = await gateway.newRun(null, { github: world.writer });
    const proposed = aHostsCall(run, "create_comment", { issue: 7, body: "hello" });

    await expect(perform(failingAt(one.failing), run, proposed, never)).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
    });
    const entries = await readRunEntries(gateway.store, run.runId);

    expect(world.sent).toHaveLength(one.sent);
    expect(entries.flatMap(({ state }) => state ?? [])).toEqual(one.states);
  });

  it("sends nothing a second time where its start can't be made durable", async () => {
    const world = createGithubWorld(["lost_before"]);
    const run = await gateway.newRun(null, { github: world.writer });
    const proposed = aHostsCall(run, "create_comment", { issue: 7, body: "hello" });

    // proposal, intent, unknown, reconciling, reconciled; then the second start
    await expect(perform(failingAt(6), run, proposed, never)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    const again = await gateway.readAgain(proposed.actionId);

    expect(world.sent).toHaveLength(1);
    expect(again.states.at(-1)).toBe("reconciled_not_applied");
  });

  it("leaves an effect whose outcome can't be recorded as started, claimed by nobody", async () => {
    const workspace = createFakeWorkspace({ "src/a.ts": "a" });
    const run = await gateway.newRun(workspace);
    const proposed = aCall(run, "create_file", file);

    await expect(perform(failingAt(3), run, proposed, never)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    const again = await gateway.readAgain(proposed.actionId);

    expect(workspace.files.has(file.path)).toBe(true);
    expect(run.recorded).toEqual([]);
    expect(again.states).toEqual(["proposed", "authorized", "intent_recorded", "started"]);
    expect(again.action.event.outcome).toBe("unknown");
    expect(again.verification.findings).toEqual([]);
  });

  it("a denial that can't be recorded is an outage, and denies all the same (C-5)", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    const proposed = aCall(run, "create_file", { path: ".git/hooks/x", content: "" });

    await expect(perform(failingAt(2), run, proposed, never)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });

    expect(workspace.files.size).toBe(0);
  });

  it("an approved action starts only where the use of its approval is on record", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    const question = await call(gateway, run, "create_file", { path: "package.json", content: "{}" });
    const deps = { ...failingAt(2), openQuestions: gateway.deps.openQuestions };

    const answered = answerApproval(deps, run, approvalOf(question), aYes, never);
    await expect(answered).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    const again = await gateway.readAgain(question.actionId);
    const uses = await gateway.store.sql("select from approval_uses where action_id = $1", [question.actionId]);

    expect(workspace.files.size).toBe(0);
    expect(again.states).toEqual(["proposed", "approval_pending", "approval_granted"]);
    expect(uses).toHaveLength(0);
  });

  describe("with a real connection that is ended while it writes", () => {
    it.each([
      { failing: 1, name: "the proposal", hasEffect: false, states: [] },
      { failing: 2, name: "the intent", hasEffect: false, states: ["proposed"] },
      {
        failing: 3,
        name: "the outcome",
        hasEffect: true,
        states: ["proposed", "authorized", "intent_recorded", "started"],
      },
    ])("$name", async ({ failing, hasEffect, states }) => {
      const workspace = createFakeWorkspace({});
      const run = await gateway.newRun(workspace);
      await using other = await openTestStore({ database: gateway.store.database });
      const { ledger } = gateway.deps;
      let count = 0;
      const append: typeof ledger.append = (...parts) => {
        count += 1;
        if (count !== failing) return ledger.append(...parts);
        return other.transaction(async (tx) => {
          await other.sql("select pg_advisory_xact_lock($1)", [advisoryLocks.ledger], tx);
          const writing = ledger.append(...parts);
          let isOver = false;
          const end = (): void => {
            isOver = true;
          };
          const over = writing.then(end, end);
          while (!isOver) await endWaitingWriter(other, tx);
          await over;
          return writing;
        });
      };
      const proposed = aCall(run, "create_file", file);

      const performed = perform({ ...gateway.deps, ledger: { ...ledger, append } }, run, proposed, never);
      await expect(performed).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      const entries = await readRunEntries(gateway.store, run.runId);
      const next = await call(gateway, run, "read_file", { path: "README.md" });
      const again = await gateway.readAgain(next.actionId);

      expect(workspace.files.has(file.path)).toBe(hasEffect);
      expect(entries.flatMap(({ state }) => state ?? [])).toEqual(states);
      expect(again.verification.findings).toEqual([]);
    });
  });

  describe("a run that is stopped", () => {
    const stopped = () => AbortSignal.abort(new CountersignError("ABORTED", "stopped by SIGINT"));

    it("starts nothing, and says so with its decision", async () => {
      const workspace = createFakeWorkspace({});
      const run = await gateway.newRun(workspace);

      const outcome = await perform(gateway.deps, run, aCall(run, "create_file", file), stopped());
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "cancelled", refusal: { code: "not_executed" } });
      expect(workspace.files.size).toBe(0);
      expect(again.states).toEqual(["proposed", "authorized", "cancelled"]);
      expect(again.action.event.outcome).toBe("cancelled:stop");
      expect(again.verification.findings).toEqual([]);
    });

    it("names the run's own time limit as its cause", async () => {
      const run = await gateway.newRun(createFakeWorkspace({}));
      const limit = AbortSignal.abort(new CountersignError("TIME_LIMIT", "the limit of 60 minutes was reached"));

      const outcome = await perform(gateway.deps, run, aCall(run, "create_file", file), limit);
      const again = await gateway.readAgain(outcome.actionId);

      expect(again.action.event.outcome).toBe("cancelled:budget");
    });

    it("does nothing where it is stopped while the intent is written", async () => {
      const workspace = createFakeWorkspace({});
      const run = await gateway.newRun(workspace);
      const stop = new AbortController();
      const ledger = interceptedLedger(gateway.deps.ledger, async (count) => {
        await Promise.resolve();
        if (count === 2) stop.abort(new CountersignError("ABORTED", "stopped by SIGTERM"));
      });
      const proposed = aCall(run, "create_file", file);

      const performed = perform({ ...gateway.deps, ledger }, run, proposed, stop.signal);
      await expect(performed).rejects.toMatchObject({ code: "ABORTED" });
      const again = await gateway.readAgain(proposed.actionId);

      expect([...workspace.files]).toEqual([]);
      expect(again.states).toEqual(["proposed", "authorized", "intent_recorded", "started", "failed_definite"]);
      expect(again.action.event.outcome).toBe("error:ABORTED");
      expect(again.verification.findings).toEqual([]);
    });
  });

  it.each([
    { error: new CountersignError("ABORTED", "stopped"), outcome: "unknown", state: "unknown" },
    { error: new CountersignError("WORKSPACE_POISONED", "alive"), outcome: "unknown", state: "unknown" },
    { error: new Error("a bug"), outcome: "unknown", state: "unknown" },
    {
      error: new CountersignError("SANDBOX_FAILED", "none"),
      outcome: "error:SANDBOX_FAILED",
      state: "failed_definite",
    },
    {
      error: new CountersignError("BUBBLEWRAP_MISSING", "none"),
      outcome: "error:BUBBLEWRAP_MISSING",
      state: "failed_definite",
    },
  ])("records what execute threw before it goes on: $error.message $state", async ({ error, outcome, state }) => {
    const throwing = createFakeWorkspace({}, () => {
      throw error;
    });
    const run = await gateway.newRun(throwing);
    const proposed = aCall(run, "run_command", { command: "touch x" });

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toBe(error);
    const again = await gateway.readAgain(proposed.actionId);

    expect(again.states).toEqual(["proposed", "authorized", "intent_recorded", "started", state]);
    expect(again.action.event.outcome).toBe(outcome);
    expect(again.transactionCount).toBe(3);
    expect(run.recorded).toEqual([]);
    expect(again.verification.findings).toEqual([]);
  });

  it("records a result that its own tool can't word as unknown, and the bug goes on", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}, () => anExecResult("", { exitCode: 0.5 })));
    const proposed = aCall(run, "run_command", { command: "true" });

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toThrow("exit_code");
    const again = await gateway.readAgain(proposed.actionId);

    expect(again.states.at(-1)).toBe("unknown");
  });
});

/** Ends the server process of whoever waits for the ledger's lock by now. */
async function endWaitingWriter(other: { sql: TestGateway["store"]["sql"] }, tx: Transaction): Promise<void> {
  await other.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`,
    [],
    tx,
  );
}
