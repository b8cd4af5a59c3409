import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FoundSettings, recordSettings } from "../../src/app/record-settings.ts";
import { verifyStored } from "../../src/ledger/index.ts";
import { pause, resume } from "../../src/run/index.ts";
import { readKillSwitch } from "../../src/store/index.ts";
import { interceptedLedger } from "../support/gateway.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let held: TestLedger;
beforeEach(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
});
afterEach(async () => {
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const found: FoundSettings = { operatorDigest: "a1", policySetDigest: "b1", killSwitch: "running" };
const start = (changes: Partial<FoundSettings> = {}, ledger = held.ledger): Promise<void> =>
  recordSettings({ store, ledger, clock: () => held.now.ms }, { ...found, ...changes });
const recorded = async (): Promise<readonly unknown[]> => {
  const rows = await store.sql<{ evidence: unknown }>(
    "select convert_from(body, 'UTF8')::json -> 'evidence' as evidence from ledger_entries order by index",
  );
  return rows.map(({ evidence }) => evidence);
};
const isPaused = async (): Promise<boolean> => (await readKillSwitch(store.db)).isPaused;
const operatorDeps = () => ({
  store,
  ledger: held.ledger,
  clock: () => held.now.ms,
  randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
});

describe("what a start finds (AUD-11)", () => {
  it("is on record where it is another than at the last one, and only then", async () => {
    await start();
    await start();
    await start({ operatorDigest: "a2" });
    await start({ operatorDigest: "a2", policySetDigest: "b2" });
    await start({ operatorDigest: "a2", policySetDigest: null }); // a process that decides nothing
    await start({ operatorDigest: "a2", policySetDigest: "b2" });

    expect(await recorded()).toEqual([
      { kind: "operator_changed", before: null, after: "a1" },
      { kind: "policy_set_changed", before: null, after: "b1" },
      { kind: "operator_changed", before: "a1", after: "a2" },
      { kind: "policy_set_changed", before: "b1", after: "b2" },
    ]);
    expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
  });

  it("is recorded once by two processes that start together", async () => {
    const late = interceptedLedger(held.ledger, () => start());
    await start({}, late);

    expect(await recorded()).toHaveLength(2);
  });
});

describe("the kill switch's default (AUD-90)", () => {
  it("is taken at the first start of a database, with its entry", async () => {
    await start({ killSwitch: "paused" });

    expect(await isPaused()).toBe(true);
    expect((await recorded()).at(-1)).toEqual({ kind: "paused", cause: "default" });
  });

  it("stands against no later hand: what was resumed stays so at the next start", async () => {
    await start({ killSwitch: "paused" });
    await resume(operatorDeps());
    await start({ killSwitch: "paused", operatorDigest: "a2" });

    expect(await isPaused()).toBe(false);
  });

  it("ends no pause", async () => {
    await pause(operatorDeps());
    await start({ killSwitch: "running" });

    expect(await isPaused()).toBe(true);
  });
});
