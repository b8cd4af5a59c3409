import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ActionOutcome,
  CountersignError,
  createRedactor,
  emptyChangeSet,
  isCountersignError,
  type ProposedAction,
} from "../../src/domain/index.ts";
import { perform, reconcileOpen, unrecordedOutcome } from "../../src/gateway/index.ts";
import {
  isAfterEffect,
  openSpool,
  readRunEntries,
  readSpools,
  type Spool,
  spoolOutcomes,
  verifyStored,
} from "../../src/ledger/index.ts";
import { parseOperatorSettings } from "../../src/policy/index.ts";
import { runLocally } from "../../src/run/index.ts";
import { cancelUnrecorded, recordSpooled } from "../../src/run/log-failed.ts";
import type { LocalRequest, RunDeps } from "../../src/run/run-deps.ts";
import type { Session } from "../../src/run/session.ts";
import { setUp } from "../../src/run/set-up.ts";
import { verify } from "../../src/run/verify.ts";
import { type FailingLog, type LogFault, logFaults, makeLogFail } from "../support/failing-log.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { aCall, aHostsCall, never, openTestGateway, type TestGateway, type TestRun } from "../support/gateway.ts";
import { createGithubWorld } from "../support/github-world.ts";

let gateway: TestGateway;
let log: FailingLog;
let folder: string;
let spool: Spool;

beforeAll(async () => {
  gateway = await openTestGateway();
  log = await makeLogFail(gateway.store);
  folder = mkdtempSync(join(tmpdir(), "countersign-spool-"));
  spool = await openSpool(folder, "worker");
});
afterAll(async () => {
  await spool[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
  await gateway[Symbol.asyncDispose]();
});

/** The gateway with a ledger that spools, and what recovery works with. */
const depsOf = () => {
  const ledger = spoolOutcomes(gateway.log.ledger, spool, () => gateway.log.now.ms);
  return {
    ...gateway.deps,
    ledger,
    store: gateway.store,
    keys: gateway.log.keys,
    readSpools: () => readSpools(folder),
  };
};

/** Performs it while the log fails from its n-th write on, `count` times; then the log is back. */
async function whileFailing(
  run: TestRun,
  proposed: ProposedAction,
  { fault, at, count = 1 }: { readonly fault: LogFault; readonly at: number; readonly count?: number },
): Promise<{ readonly outcome: ActionOutcome | null; readonly error: unknown }> {
  await log.fail(fault, at, count);
  const ended = await perform(depsOf(), run, proposed, never).then(
    (outcome) => ({ outcome, error: null }),
    (error: unknown) => ({ outcome: null, error }),
  );
  await log.mend();
  return ended;
}

const statesOf = async ({ runId }: TestRun): Promise<readonly (string | null)[]> =>
  (await readRunEntries(gateway.store, runId)).filter(({ type }) => type === "action").map(({ state }) => state);
const lastOf = async ({ runId }: TestRun) => (await readRunEntries(gateway.store, runId)).at(-1);

const places = ["the proposal", "decision and intent", "the outcome"] as const;
const begun = ["proposed", "authorized", "intent_recorded", "started"];
/** What is on record once the log has failed at that write. */
const recorded = [[], ["proposed"], begun] as const;

describe.each(logFaults)("the log fails: $name (C-5, AUD-53 to AUD-55)", (fault) => {
  it.each([1, 2, 3])("at write %i of an action in the checkout: no effect without its intent", async (at) => {
    const workspace = createFakeWorkspace({ "src/a.ts": "a" });
    const run = await gateway.newRun(workspace);
    const proposed = aCall(run, "create_file", { path: "src/new.ts", content: "new" });

    const { error } = await whileFailing(run, proposed, { fault, at });

    expect(isCountersignError(error, "LEDGER_UNAVAILABLE"), `${places[at - 1]}: ${String(error)}`).toBe(true);
    expect(await statesOf(run)).toEqual(recorded[at - 1]);
    expect(workspace.files.has("src/new.ts")).toBe(at === 3);
    expect(isAfterEffect(error)).toBe(at === 3);
    expect(run.recorded).toEqual([]);
  });

  it.each([1, 2, 3])("at write %i of a write to GitHub: nothing is sent without its intent", async (at) => {
    const world = createGithubWorld();
    const run = await gateway.newRun(null, { github: world.writer });
    const proposed = aHostsCall(run, "create_comment", { issue: 7, body: "hello" });

    const { error } = await whileFailing(run, proposed, { fault, at });
    await recordSpooled(depsOf(), run, run.lease);
    const settled = at === 3 ? await reconcileOpen(depsOf(), run, proposed.actionId, never) : null;

    expect(isCountersignError(error, "LEDGER_UNAVAILABLE")).toBe(true);
    expect(world.sent).toHaveLength(at === 3 ? 1 : 0);
    // AUD-54: the spool says `succeeded`, and the world is looked at all the same; nothing is sent a second time.
    expect(settled?.state ?? null).toBe(at === 3 ? "reconciled_applied" : null);
    const afterwards = at === 3 ? ["unknown", "reconciling", "reconciled_applied"] : [];
    expect(await statesOf(run)).toEqual([...(recorded[at - 1] ?? []), ...afterwards]);
  });

  it.each([1, 2])("at write %i of a denied action: it is denied all the same (AUD-56)", async (at) => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);

    const denied = aCall(run, "create_file", { path: ".git/hooks/x", content: "" });
    const { error } = await whileFailing(run, denied, { fault, at });

    expect(isCountersignError(error, "LEDGER_UNAVAILABLE")).toBe(true);
    expect(workspace.files.size).toBe(0);
    expect(await statesOf(run)).toEqual(recorded[at - 1]);
  });
});

describe("the host's own actions that can't be recorded (AUD-52)", () => {
  const unavailable = new CountersignError("LEDGER_UNAVAILABLE", "the log is out");
  const workspace = { ...createFakeWorkspace({}), apply: () => Promise.resolve() };
  const risks: string[] = [];

  async function parts(settings: object): Promise<readonly [RunDeps, Session]> {
    const context = await gateway.newRun(null);
    const deps = {
      ...depsOf(),
      ledger: { ...gateway.log.ledger, append: () => Promise.reject(unavailable) },
      policies: gateway.policies,
      operator: parseOperatorSettings("{}", "operator.json"),
      redactor: createRedactor([]),
      askApproval: null,
      onEvent: () => undefined,
      onUnrecorded: (risk: string) => risks.push(risk),
      openPages: () => Promise.resolve({ ...context.pages, [Symbol.asyncDispose]: () => Promise.resolve() }),
      workspace: { createWorkspace: () => Promise.resolve(workspace) },
    };
    const work = { recorded: [], outcomes: [], approvedEarlier: new Set() };
    const session = { run: { runId: context.runId }, context, settings, ...work };
    return [deps, session] as unknown as [RunDeps, Session];
  }
  beforeEach(() => {
    risks.length = 0;
  });

  it("are told to whoever decides what that means: a setup", async () => {
    const [deps, session] = await parts({ setup: { run: "make", timeoutMs: 1_000, network: "none" } });

    const tree = { workspace, dependencies: emptyChangeSet };
    await expect(setUp(deps, session, tree, never)).rejects.toBe(unavailable);
    expect(risks).toEqual(["RESTRICTED"]);
  });

  it("are told to whoever decides what that means: a verification", async () => {
    const [deps, session] = await parts({ setup: null, verify: { run: "make", timeoutMs: 1_000 }, buildOutput: [] });

    const tree = { name: "verify_after", changeSet: null } as const;
    await expect(verify(deps, session, tree, never)).rejects.toBe(unavailable);
    expect(risks).toEqual(["RESTRICTED"]);
  });
});

it("a command that is a run of its own takes none while its disk is nearly full (AUD-58)", async () => {
  const full = new CountersignError("DISK_FULL", "255 MiB are free");
  const deps = { clock: () => 0, onEvent: () => undefined, requireRoom: () => Promise.reject(full) };

  await expect(runLocally(deps as unknown as RunDeps, {} as LocalRequest, never)).rejects.toBe(full);
});

describe("once the log is back", () => {
  const [, fault] = logFaults;

  it("what was refused for its sake is cancelled with its cause, and so is a denied one (AUD-53, AUD-56)", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));
    const proposed = [
      aCall(run, "create_file", { path: "src/new.ts", content: "new" }),
      aCall(run, "create_file", { path: ".git/hooks/x", content: "" }),
    ];
    for (const one of proposed) await whileFailing(run, one, { fault, at: 2 });

    const ids = proposed.map(({ actionId }) => actionId);
    await cancelUnrecorded(depsOf(), run, run.lease, ids);
    await cancelUnrecorded(depsOf(), run, run.lease, ids); // said once

    const events = await Promise.all(ids.map(async (id) => (await gateway.readAgain(id)).action.event.outcome));
    expect(events).toEqual(["cancelled:log_failed_before", "cancelled:log_failed_before"]);
    expect(await statesOf(run)).toEqual(["proposed", "proposed", "cancelled", "cancelled"]);
  });

  it("an intent that was recorded although its answer was lost counts as not done, with its proof", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    const proposed = aCall(run, "create_file", { path: "src/new.ts", content: "new" });
    let count = 0;
    const { ledger } = gateway.log;
    const lost: typeof ledger.append = async (...parts) => {
      const appended = await ledger.append(...parts);
      count += 1;
      if (count === 2) throw new CountersignError("LEDGER_UNAVAILABLE", "the connection broke at the commit");
      return appended;
    };
    await expect(
      perform({ ...gateway.deps, ledger: { ...ledger, append: lost } }, run, proposed, never),
    ).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });

    await cancelUnrecorded(depsOf(), run, run.lease, [proposed.actionId]);

    expect(await statesOf(run)).toEqual([...begun, "failed_definite"]);
    expect((await lastOf(run))?.evidence).toMatchObject({ proof: "the log failed before the effect began" });
    expect(workspace.files.size).toBe(0);
  });

  it("an outcome in the spool becomes `unknown` with `log_failed` and what the spool says, once (AUD-54)", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));
    await whileFailing(run, aCall(run, "create_file", { path: "a", content: "" }), { fault, at: 3 });

    await recordSpooled(depsOf(), run, run.lease);
    await recordSpooled(depsOf(), run, run.lease);

    expect(await statesOf(run)).toEqual([...begun, "unknown"]);
    const spooled = { state: "succeeded", digest: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect((await lastOf(run))?.evidence).toMatchObject({ cause: "log_failed", spooled });
  });

  it("the model has been told `audit_unavailable`, with no entry's id", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));
    const proposed = aCall(run, "create_file", { path: "a", content: "" });

    const told = unrecordedOutcome(gateway.deps, run, proposed);

    expect(told).toMatchObject({ status: "refused", refusal: { code: "audit_unavailable" }, decision: null });
    expect(told.text).toContain("could not be recorded, so it was not executed");
  });

  it("a clock that was set back is on record before what came after it (AUD-11)", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    const before = gateway.log.now.ms;
    const ledger: typeof gateway.deps.ledger = {
      ...gateway.log.ledger,
      append: async (...parts) => {
        const appended = await gateway.log.ledger.append(...parts);
        gateway.log.now.ms -= 60_000;
        return appended;
      },
    };
    await perform({ ...gateway.deps, ledger }, run, aCall(run, "create_file", { path: "a", content: "" }), never);
    gateway.log.now.ms = before;

    expect(await statesOf(run)).toEqual([...begun, "succeeded"]);
    const steps = await gateway.store.sql(
      "select index from ledger_entries where convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' = 'clock_step'",
    );
    expect(steps).toHaveLength(2);
  });

  it("all of it verifies", async () => {
    expect(await verifyStored({ store: gateway.store, keys: gateway.log.keys })).toMatchObject({ findings: [] });
  });
});
