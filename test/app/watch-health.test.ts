import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Health, type HealthWatch, watchHealth } from "../../src/app/watch-health.ts";
import type { SpoolReading } from "../../src/ledger/index.ts";
import { type FailingLog, logFaults, makeLogFail } from "../support/failing-log.ts";
import { aMove, newTestActionId, openTestLedger, startOfTime, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

const lookEveryMs = 1_000;
const noSpools: SpoolReading = { records: [], files: [], torn: [] };

let store: TestStore;
let held: TestLedger;
let log: FailingLog;
let watch: HealthWatch;
let spools: () => Promise<SpoolReading>;
/** How many have come to their end. */
let probes = 0;

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  log = await makeLogFail(store);
});
afterAll(async () => {
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  spools = () => Promise.resolve(noSpools);
  held.now.ms = startOfTime;
  const transaction: TestStore["transaction"] = (work) => store.transaction(work).finally(() => (probes += 1));
  watch = await watchHealth({
    store: { ...store, transaction },
    clock: () => held.now.ms,
    readSpools: () => spools(),
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await log.mend();
  await watch[Symbol.asyncDispose]();
});

/** What is shown once one more probe has been made. */
async function afterAProbe(isExpected: (health: Health) => boolean): Promise<Health> {
  const before = probes;
  vi.advanceTimersByTime(lookEveryMs);
  return await vi.waitFor(
    async () => {
      const health = await watch.now();
      if (probes === before || !isExpected(health)) throw new Error(`not yet: ${JSON.stringify(health)}`);
      return health;
    },
    { timeout: 60_000, interval: 20 },
  );
}

describe("health (AUD-59, AUD-60)", () => {
  it("is ready where the log can be written, and shows what there is to know", async () => {
    const lease = await held.newRun();
    const actionId = newTestActionId();
    await held.ledger.append(lease, {
      entries: [aMove(lease.runId, actionId, "proposed", { evidence: { tool: "read_file" } })],
      sealed: [],
    });
    await store.sql("update actions set state = 'unknown' where action_id = $1", [actionId]);
    await store.sql(
      `insert into span_outbox (run_id, entry_index, trace_id, span_id, span, created_at)
        values ($1, 0, repeat('a', 32), repeat('b', 16), '{}', $2)`,
      [lease.runId, new Date(startOfTime - 90_000).toISOString()],
    );
    spools = () => Promise.resolve({ ...noSpools, torn: [{ file: "a", atByte: 0, sizeBytes: 1 }] });

    const health = await afterAProbe(({ facts }) => JSON.stringify(facts["ledger"]).includes('"size":1'));

    expect(health).toEqual({
      isReady: true,
      facts: {
        ledger: { state: "ok", size: 1 },
        spool: { outcomes: 0, torn: 1 },
        paused: false,
        runs: {},
        outboxAgeSeconds: 90,
        openUnknowns: 1,
      },
    });
  });

  it("shows an outage within a second's look, since when and by which code, and its end", async () => {
    await log.fail(logFaults[1], 1, 1_000_000);
    held.now.ms = startOfTime + 5_000;
    const out = await afterAProbe(({ isReady }) => !isReady);
    held.now.ms = startOfTime + 6_000;
    const later = await afterAProbe(({ isReady }) => !isReady);
    await log.mend();
    const back = await afterAProbe(({ isReady }) => isReady);

    const since = new Date(startOfTime + 5_000).toISOString();
    const ledger = { state: "unavailable", code: "LEDGER_UNAVAILABLE", since };
    expect(out.facts).toEqual({ reason: "ledger_unavailable", ledger, spool: { outcomes: 0, torn: 0 } });
    expect(later.facts["ledger"]).toEqual(ledger);
    expect(back.facts["ledger"]).toMatchObject({ state: "ok" });
  });

  it("is backed by a write: a log that can only be read is out", async () => {
    await store.sql("alter table log_probe rename to log_probe_away");
    const out = await afterAProbe(({ isReady }) => !isReady);
    await store.sql("alter table log_probe_away rename to log_probe");

    expect(out.facts).toMatchObject({ reason: "ledger_unavailable" });
  });

  it("is out where a probe is not answered at all", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const silent = { ...store, transaction: () => new Promise<never>(() => undefined) };
    const watching = watchHealth({ store: silent, clock: () => startOfTime, readSpools: () => spools() });
    await vi.advanceTimersByTimeAsync(3_000);
    await using none = await watching;

    expect(await none.now()).toMatchObject({ isReady: false, facts: { reason: "ledger_unavailable" } });
  });

  it("is not ready where whether all is paused can't be read", async () => {
    await store.sql("delete from service_state");
    const health = await watch.now();
    await store.sql("insert into service_state (paused, changed_at) values (false, now())");

    expect(health).toMatchObject({ isReady: false, facts: { reason: "kill_switch_unreadable" } });
  });

  it("says so where the spool can't be read, which is no reason to take no work", async () => {
    spools = () => Promise.reject(new Error("EIO"));

    expect(await watch.now()).toMatchObject({ isReady: true, facts: { spool: "unreadable" } });
  });
});
