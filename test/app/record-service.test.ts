import { afterAll, beforeAll, expect, it } from "vitest";
import { recordStart, recordStop } from "../../src/app/record-service.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let test: TestLedger;
beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const [one, other] = ["a".repeat(64), "b".repeat(64)];

/** What the log tells of the service, oldest first. */
async function told(): Promise<readonly unknown[]> {
  const rows = await store.sql<{ evidence: unknown }>(
    "select convert_from(body, 'UTF8')::json -> 'evidence' as evidence from ledger_entries where type = 'service' order by index",
  );
  return rows.map(({ evidence }) => evidence);
}

it("a start, a stop, and what is another than before are entries (AUD-11)", async () => {
  const records = { ...test, store, [Symbol.asyncDispose]: () => Promise.resolve() };
  const start = (role: string, policySetDigest: string | null, operatorSettingsDigest: string) =>
    recordStart(records, { role, policySetDigest, operatorSettingsDigest });

  await start("all", one, one);
  await recordStop(records, "all");
  await start("web", null, one); // decides nothing: says nothing of policies
  await start("all", other, one);
  await start("all", other, other);
  await start("all", other, other);

  const started = (role: string, policySetDigest: string | null, operatorSettingsDigest: string) => ({
    ...{ kind: "service_started", role, policySetDigest, operatorSettingsDigest },
  });
  expect(await told()).toEqual([
    started("all", one, one),
    { kind: "service_stopped", role: "all" },
    started("web", null, one),
    started("all", other, one),
    { kind: "policy_set_changed", from: one, to: other },
    started("all", other, other),
    { kind: "operator_settings_changed", from: one, to: other },
    started("all", other, other),
  ]);
});
