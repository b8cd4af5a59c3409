import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { NewEntry } from "../../../src/domain/index.ts";
import {
  type Ledger,
  lostSpans,
  readRunEntries,
  spansOf,
  type TraceSpan,
  verifyStored,
} from "../../../src/ledger/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { actionEntries, aRunId, endedRun } from "../../support/histories.ts";
import { anEntry, emptyLog, openTestLedger, startOfTime, type TestLedger } from "../../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../../support/test-store.ts";

let store: TestStore;
let test: TestLedger;
let ledger: Ledger;
const lease = { runId: aRunId, fencingToken: 1 };

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
});
beforeEach(startAnew);
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

async function startAnew(): Promise<void> {
  await emptyLog(store);
  test.now.ms = startOfTime;
  ledger = await test.open(store);
}

const stored = async (): Promise<readonly TraceSpan[]> =>
  (await store.db.selectFrom("span_outbox").select("span").orderBy("id").execute()).map(
    ({ span }) => span as unknown as TraceSpan,
  );
const derived = async (): Promise<readonly TraceSpan[]> => spansOf(test.keys, await readRunEntries(store, aRunId));
const append = (where: Ledger, entries: readonly NewEntry[]) => where.append(lease, { entries, sealed: [] });
const move = (state: "proposed" | "cancelled"): readonly NewEntry[] =>
  actionEntries({ number: 1, states: state === "proposed" ? ["proposed"] : ["proposed", "cancelled"] }).slice(-1);

describe("the outbox", () => {
  it("has exactly the spans that the entries complete, however they were appended and by whichever process", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(endedRun, sizes, async (entries, batches) => {
        await startAnew();
        const writers = [ledger, await test.open(store)];
        let rest = entries;
        for (let turn = 0; rest.length > 0; turn += 1) {
          const size = batches[turn % batches.length] ?? 1;
          test.now.ms += 7;
          await append(writers[turn % 3 === 0 ? 1 : 0] ?? ledger, rest.slice(0, size));
          rest = rest.slice(size);
        }

        expect(await stored()).toEqual(await derived());
        const count = await lostSpans(store.db);
        expect(count).toEqual({ owed: (await stored()).length, pending: count.owed, sent: 0, rejected: 0, lost: 0 });
      }),
      { numRuns: 12 },
    );
    expect((await verifyStored({ store, keys: test.keys })).findings).toEqual([]);
  });

  it("counts what is owed also in the midst of a run", async () => {
    await fc.assert(
      fc.asyncProperty(endedRun, fc.nat(60), async (entries, length) => {
        await startAnew();
        const begun = entries.slice(0, length);
        if (begun.length > 0) await append(ledger, begun);

        const { owed, lost } = await lostSpans(store.db);
        expect([owed, lost]).toEqual([(await derived()).length, 0]);
      }),
      { numRuns: 12 },
    );
  });

  it("is rolled back with the entry", async () => {
    await append(ledger, move("proposed"));
    const fail = new Error("the caller's own part failed");

    await expect(
      ledger.append(lease, { entries: move("cancelled"), sealed: [] }, () => Promise.reject(fail)),
    ).rejects.toBe(fail);
    expect(await stored()).toEqual([]);
    await append(ledger, move("cancelled"));

    expect((await stored()).map(({ name }) => name)).toEqual(["countersign.parse", "countersign.action read_file"]);
  });

  it("costs no statement more: an append to a known run is one", async () => {
    const statements: string[] = [];
    const counter: Parameters<Store["db"]["withPlugin"]>[0] = {
      transformQuery: ({ node }) => node,
      transformResult: ({ queryId, result }) => {
        statements.push(queryId.queryId);
        return Promise.resolve(result);
      },
    };
    const counted = await test.open({ ...(store as Store), log: store.log.withPlugin(counter) });
    await append(counted, move("proposed"));
    statements.length = 0;

    await append(counted, move("cancelled"));

    expect(statements).toHaveLength(1);
    expect(await stored()).toHaveLength(2);
  });

  it("counts a span that is gone, and one that was refused for good, as lost", async () => {
    await append(ledger, move("proposed"));
    await append(ledger, move("cancelled"));
    await store.sql("delete from span_outbox where span ->> 'name' = 'countersign.parse'");
    await store.sql("update span_outbox set state = 'rejected'");

    expect(await lostSpans(store.db)).toEqual({ owed: 2, pending: 0, sent: 0, rejected: 1, lost: 2 });
  });

  it("asks nothing of runs that began before there was an outbox", async () => {
    await append(ledger, move("proposed"));
    await append(ledger, move("cancelled"));
    await store.sql("delete from span_outbox");
    await store.sql("update trace_start set index = 2");

    const count = await lostSpans(store.db);
    await store.sql("update trace_start set index = 0");

    expect(count).toMatchObject({ owed: 0, lost: 0 });
  });

  it("leaves an entry of no run without a span", async () => {
    await ledger.append(null, { entries: [anEntry(null)], sealed: [] });

    expect(await stored()).toEqual([]);
  });
});
