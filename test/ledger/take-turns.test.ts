import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../src/domain/index.ts";
import { readForVerification, verifyLedger } from "../../src/ledger/index.ts";
import { advisoryLocks, type Transaction } from "../../src/store/index.ts";
import { anEntry, emptyLog, openTestLedger, startOfTime, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

type Within = (tx: Transaction) => Promise<void>;

let store: TestStore;
let test: TestLedger;

beforeAll(async () => {
  store = await openTestStore();
  await store.sql("create table noted (name text primary key)");
  test = await openTestLedger(store);
});
beforeEach(async () => {
  await emptyLog(store);
  await store.sql("delete from noted");
  test.now.ms = startOfTime;
  test = Object.assign(test, { ledger: await test.open(store) });
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const note =
  (name: string): Within =>
  async (tx) => {
    await store.sql("insert into noted (name) values ($1)", [name], tx);
  };
const entryOf = (name: string) => anEntry(null, { evidence: { kind: "noted", name } });
const append = (name: string, within: Within = note(name)): Promise<readonly LedgerEntry[]> =>
  test.ledger.append(null, { entries: [entryOf(name)], sealed: [] }, within);
const names = (settled: readonly PromiseSettledResult<readonly LedgerEntry[]>[]): unknown[] =>
  settled.map((one) => (one.status === "fulfilled" ? one.value.map(({ evidence }) => evidence["name"]) : one.reason));
const stored = async (): Promise<unknown[]> => {
  const rows = await store.sql<{ name: string }>(
    "select convert_from(body, 'utf8')::json -> 'evidence' ->> 'name' as name from ledger_entries order by index",
  );
  return rows.map(({ name }) => name);
};
const noted = async (): Promise<unknown[]> => {
  const rows = await store.sql<{ name: string }>("select name from noted order by name");
  return rows.map(({ name }) => name);
};
const transactions = async (): Promise<number> => {
  const [row] = await store.sql<{ count: number }>(
    "select count(distinct xmin::text)::int as count from ledger_entries",
  );
  return row?.count ?? 0;
};
const isIntact = async (): Promise<boolean> => {
  const expected = { origin: test.ledger.origin, checkpoints: [], unseal: test.keys.open };
  return (await readForVerification(store, (log) => verifyLedger(log, expected))).ok;
};
const lettered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `n${String(at).padStart(3, "0")}`);

describe("appends without a lease that wait for the same turn", () => {
  it("share one transaction, and each gets its own entries, in the order in which they came", async () => {
    const all = lettered(64);
    const first = append("first");

    const settled = await Promise.allSettled([first, ...all.map((name) => append(name))]);

    expect(names(settled)).toEqual(["first", ...all].map((name) => [name]));
    expect(await stored()).toEqual(["first", ...all]);
    expect(await noted()).toEqual(["first", ...all]);
    expect(await transactions()).toBeLessThanOrEqual(2);
    expect(await isIntact()).toBe(true);
  });

  it("are cut into transactions of a bounded size", async () => {
    const all = lettered(150);

    expect(names(await Promise.allSettled(all.map((name) => append(name))))).toEqual(all.map((name) => [name]));

    expect(await stored()).toEqual(all);
    expect(await transactions()).toBe(3);
  });

  it("are refused one by one: what one of them can't do undoes nothing of the others", async () => {
    const own = new Error("its own");
    const asked: string[] = [];
    const refusing: Within = async (tx) => {
      asked.push("refusing");
      await note("gone with it")(tx);
      throw own;
    };

    const settled = await Promise.allSettled([
      append("a"),
      append("b", refusing),
      append("c"),
      append("a"),
      append("d"),
    ]);

    const [, , , twice] = settled;
    expect(names(settled)).toEqual([["a"], own, ["c"], expect.objectContaining({ code: "23505" }), ["d"]]);
    expect(twice?.status).toBe("rejected");
    expect(asked.length).toBeGreaterThan(0);
    expect(await stored()).toEqual(["a", "c", "d"]);
    expect(await noted()).toEqual(["a", "c", "d"]);
    expect(await isIntact()).toBe(true);
  });

  it("are not kept from being recorded by one that is too large", async () => {
    const tooLarge = anEntry(null, { evidence: { text: "x".repeat(16 * 1024) } });

    const settled = await Promise.allSettled([
      append("a"),
      test.ledger.append(null, { entries: [tooLarge], sealed: [] }),
      append("b"),
    ]);

    expect(names(settled)).toEqual([["a"], expect.objectContaining({ code: "LEDGER_ENTRY_TOO_LARGE" }), ["b"]]);
    expect(await stored()).toEqual(["a", "b"]);
  });

  it("keep the sealed texts of each with its own entry", async () => {
    const runs = await Promise.all([test.newRun(), test.newRun()]);
    const sealed = (text: string) => [{ actionId: null, field: "note", plaintext: Buffer.from(text) }];

    await Promise.all([
      append("before"),
      ...runs.map(({ runId }, at) =>
        test.ledger.append(null, { entries: [anEntry(null), anEntry(runId)], sealed: sealed(`text ${at}`) }),
      ),
    ]);

    const rows = await store.sql<{ run_id: string; of: string }>(
      "select s.run_id, convert_from(e.body, 'utf8')::json ->> 'runId' as of from sealed s join ledger_entries e on e.index = s.entry_index where s.field = 'note'",
    );
    expect(rows.map(({ run_id }) => run_id).sort()).toEqual(runs.map(({ runId }) => runId).sort());
    for (const row of rows) expect(row.of).toBe(row.run_id);
    expect(await isIntact()).toBe(true);
  });

  it("are explained to all of them where the clock ran backwards, before the first", async () => {
    await append("before");
    test.now.ms -= 60_000;

    const settled = await Promise.allSettled(lettered(3).map((name) => append(name)));

    expect(names(settled)).toEqual([["n000"], ["n001"], ["n002"]]);
    expect(await stored()).toEqual(["before", null, "n000", "n001", "n002"]);
  });

  it("are all told LEDGER_UNAVAILABLE when the connection breaks, and none is tried a second time", async () => {
    await append("before");
    await using other = await openTestStore({ database: store.database });

    await other.transaction(async (tx) => {
      await other.sql("select pg_advisory_xact_lock($1)", [advisoryLocks.ledger], tx);
      const waiting = Promise.allSettled([append("a"), append("b"), append("c")]);
      const kill =
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())";
      while ((await other.sql(kill, [], tx)).length === 0) await new Promise(setImmediate);
      const unavailable = expect.objectContaining({ code: "LEDGER_UNAVAILABLE" });
      expect(names(await waiting)).toEqual([unavailable, unavailable, unavailable]);
    });

    expect(await stored()).toEqual(["before"]);
    await append("after");
    expect(await isIntact()).toBe(true);
  });

  it("wait behind a run's own append, and do not hold it up", async () => {
    const lease = await test.newRun();
    const own = (): Promise<readonly LedgerEntry[]> =>
      test.ledger.append(lease, { entries: [anEntry(lease.runId)], sealed: [] });

    await Promise.all([own(), append("a"), own(), append("b"), own()]);

    expect(await transactions()).toBe(4);
    expect(await stored()).toHaveLength(5);
    expect(await isIntact()).toBe(true);
  });
});
