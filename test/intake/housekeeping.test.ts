import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError } from "../../src/domain/index.ts";
import { type HookDelivery, pruneDeliveries, redeliverMissed } from "../../src/intake/index.ts";
import { openTestLedger, startOfTime, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import { intakeDeps, labelled, newDeliveryId, startIntake } from "../support/webhooks.ts";

let store: TestStore;
let held: TestLedger;

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
});
afterAll(async () => {
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const dayMs = 24 * 3_600_000;
const signal = new AbortController().signal;

describe("the keys of deliveries", () => {
  it("are kept for 30 days and then forgotten; the run stays", async () => {
    await using intake = await startIntake(intakeDeps(store, held));
    await intake.send("issues", labelled());
    const count = () => store.sql<{ n: number }>("select count(*) as n from deliveries");

    expect(await pruneDeliveries({ store, clock: () => startOfTime + 30 * dayMs })).toBe(0);
    expect(await count()).toEqual([{ n: 1 }]);
    expect(await pruneDeliveries({ store, clock: () => startOfTime + 30 * dayMs + 1 })).toBe(1);
    expect(await count()).toEqual([{ n: 0 }]);
    expect(await store.sql("select status from runs")).toEqual([{ status: "queued" }]);
  });
});

describe("deliveries that were missed", () => {
  const attempt = (id: number, changes: Partial<HookDelivery> = {}): HookDelivery => ({
    id,
    guid: `guid-${id}`,
    event: "issues",
    deliveredAt: new Date(startOfTime - id * 60_000).toISOString(),
    statusCode: 502,
    ...changes,
  });

  type Refuse = (id: number) => unknown;
  async function missed(
    pages: readonly (readonly HookDelivery[])[],
    refuse: Refuse = () => null,
    pastMs = 0,
  ): Promise<readonly number[]> {
    const asked: number[] = [];
    await redeliverMissed(
      {
        store,
        ledger: held.ledger,
        clock: () => startOfTime + pastMs,
        listDeliveries: (cursor) => {
          const at = cursor === null ? 0 : Number(cursor);
          return Promise.resolve({ deliveries: pages[at] ?? [], next: at + 1 < pages.length ? String(at + 1) : null });
        },
        redeliver: (id) => {
          asked.push(id);
          const error = refuse(id);
          return error === null ? Promise.resolve() : Promise.reject(error);
        },
      },
      signal,
    );
    return asked;
  }

  it("are asked for again, from all pages, oldest first, each by its newest attempt", async () => {
    const pages = [
      [attempt(1), attempt(2)],
      [attempt(3, { guid: "guid-1" }), attempt(4)],
    ];

    expect(await missed(pages)).toEqual([4, 2, 1]);
  });

  it("are not asked for where they are stored, whatever GitHub believes of the answer", async () => {
    const id = newDeliveryId();
    await using intake = await startIntake(intakeDeps(store, held));
    await intake.send("issues", labelled(), { id });

    expect(await missed([[attempt(1, { guid: id }), attempt(2)]])).toEqual([2]);
  });

  it.each([
    ["of an event that nobody handles", { event: "push" }],
    ["that was too large", { statusCode: 413 }],
    ["that was no JSON", { statusCode: 415 }],
    ["that is still on its way", { deliveredAt: new Date(startOfTime - 1_000).toISOString() }],
    ["older than GitHub keeps them", { deliveredAt: new Date(startOfTime - 8 * dayMs).toISOString() }],
    ["with an id of another form", { guid: "a/b" }],
    ["of no time", { deliveredAt: "" }],
  ])("are not asked for: one %s", async (_case, changes) => {
    expect(await missed([[attempt(1, changes)]])).toEqual([]);
  });

  it("stop being looked for with the signal", async () => {
    const stopped = AbortSignal.abort(new Error("stopped"));
    const listDeliveries = async () => ({ deliveries: [attempt(1)], next: null });
    const redeliver = () => Promise.reject(new Error("asked"));

    await expect(
      redeliverMissed({ store, ledger: held.ledger, clock: () => startOfTime, listDeliveries, redeliver }, stopped),
    ).rejects.toThrow("stopped");
  });

  describe("one of which GitHub refuses", () => {
    const refusing = (refused: number) => (id: number) =>
      id === refused ? new CountersignError("GITHUB_INVALID", "it can't be sent again") : null;
    const three = (first: number) => [[attempt(first), attempt(first + 1), attempt(first + 2)]];
    const hourMs = 3_600_000;

    it("do not starve for its sake: it is on record, left out for an hour, then for two", async () => {
      const askedAt = (hours: number) => missed(three(20), refusing(22), hours * hourMs);

      expect(await askedAt(0)).toEqual([22, 21, 20]);
      expect(await askedAt(0.9)).toEqual([21, 20]);
      expect(await askedAt(1.1)).toEqual([22, 21, 20]);
      expect(await askedAt(3)).toEqual([21, 20]);
      expect(await askedAt(3.2)).toEqual([22, 21, 20]);
      const entries = await store.sql(
        `select convert_from(body, 'UTF8')::json -> 'evidence' as evidence from ledger_entries
          where delivery_id = 'guid-22' order by index`,
      );
      expect(entries).toMatchObject([1, 2, 3].map((refusals) => ({ evidence: { code: "GITHUB_INVALID", refusals } })));
    });

    it("are asked for again where it was sent after all", async () => {
      await missed(three(30), refusing(31));

      expect(await missed(three(30), () => null, 2 * hourMs)).toEqual([32, 31, 30]);
    });

    it("are at most ten in a row: then it is not for their sake", async () => {
      const many = [Array.from({ length: 30 }, (_none, at) => attempt(100 + at))];

      expect(await missed(many, () => new CountersignError("GITHUB_UNAVAILABLE", "502"))).toHaveLength(10);
    });

    it.each(["GITHUB_LIMITED", "GITHUB_UNAUTHORIZED"] as const)(
      "wait where none may be asked for: %s",
      async (code) => {
        const asked = missed(three(60), () => new CountersignError(code, "not now"));

        await expect(asked).rejects.toMatchObject({ code });
        expect(await missed(three(60))).toEqual([62, 61, 60]);
      },
    );

    it("are no more than can be asked for in a round", async () => {
      const many = [Array.from({ length: 700 }, (_none, at) => attempt(200 + at))];

      expect(await missed(many)).toHaveLength(500);
    });

    it("are forgotten with the keys of old deliveries", async () => {
      await pruneDeliveries({ store, clock: () => startOfTime + 40 * dayMs });

      expect(await store.sql("select guid from refused_redeliveries")).toEqual([]);
    });
  });
});
