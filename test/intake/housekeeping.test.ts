import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

  async function missed(pages: readonly (readonly HookDelivery[])[]): Promise<readonly number[]> {
    const asked: number[] = [];
    await redeliverMissed(
      {
        store,
        clock: () => startOfTime,
        listDeliveries: (cursor) => {
          const at = cursor === null ? 0 : Number(cursor);
          return Promise.resolve({ deliveries: pages[at] ?? [], next: at + 1 < pages.length ? String(at + 1) : null });
        },
        redeliver: async (id) => void asked.push(id),
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
      redeliverMissed({ store, clock: () => startOfTime, listDeliveries, redeliver }, stopped),
    ).rejects.toThrow("stopped");
  });
});
