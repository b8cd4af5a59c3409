import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JsonObject } from "../../src/domain/index.ts";
import type { Queue } from "../../src/store/index.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
/** A second process, as far as the database can tell. */
let other: TestStore;
let queue: Queue;
let otherQueue: Queue;
beforeAll(async () => {
  store = await openTestStore();
  other = await openTestStore({ database: store.database });
  queue = await store.queue();
  otherQueue = await other.queue();
}, 60_000);
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
}, 60_000);

const aName = (): string => `jobs-${randomUUID()}`;
const waiting = async (name: string): Promise<number> =>
  (await store.sql("select id from pgboss.job where name = $1 and state in ('created', 'retry')", [name])).length;

/** Lets the test wait for something that a handler does. */
function signalled(): { readonly happened: Promise<void>; happen(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { happened: promise, happen: resolve };
}

it("is the same queue each time it is asked for", async () => {
  expect(await store.queue()).toBe(queue);
});

it("enqueues with the transaction, and not without it", async () => {
  const name = aName();

  const rolledBack = store.transaction(async (tx) => {
    await queue.enqueue(tx, name, { runId: "1" });
    throw new Error("no");
  });
  await expect(rolledBack).rejects.toThrow("no");
  expect(await waiting(name)).toBe(0);

  await store.transaction((tx) => queue.enqueue(tx, name, { runId: "2" }));
  expect(await waiting(name)).toBe(1);
});

it("lets one job wait under a key, with what was said last, and takes the more urgent one first", async () => {
  const name = aName();
  const seen: JsonObject[] = [];
  const stop = new AbortController();
  const all = signalled();
  const add = (data: JsonObject, options: Parameters<Queue["enqueue"]>[3]): Promise<string> =>
    store.transaction((tx) => queue.enqueue(tx, name, data, options));

  const first = await add({ number: 1 }, { key: "a", startAfterMs: 3_600_000 });
  await Promise.all([add({ number: 2 }, { key: "b" }), add({ number: 2 }, { key: "b" })]);
  const again = await add({ number: 3 }, { key: "a", priority: 1 });
  const waitingCount = await waiting(name);
  const working = queue.work(
    name,
    (data) => {
      seen.push(data);
      if (seen.length === 2) all.happen();
      return Promise.resolve();
    },
    stop.signal,
  );
  await all.happened;
  stop.abort();
  await working;

  expect([again, waitingCount]).toEqual([first, 2]);
  expect(seen).toEqual([{ number: 3 }, { number: 2 }]);
}, 60_000);

it("takes jobs that nobody is notified of within seconds: one that becomes due, and the rest of many", async () => {
  const name = aName();
  const stop = new AbortController();
  const all = signalled();
  let takenCount = 0;
  const handler = (): Promise<void> => {
    takenCount += 1;
    if (takenCount === 4) all.happen();
    return Promise.resolve();
  };

  const working = queue.work(name, handler, stop.signal);
  const startedMs = performance.now();
  await store.transaction(async (tx) => {
    for (let number = 0; number < 3; number += 1) await queue.enqueue(tx, name, { number });
    await queue.enqueue(tx, name, { number: 3 }, { startAfterMs: 2_000 });
  });
  await all.happened;
  stop.abort();
  await working;

  expect(performance.now() - startedMs).toBeLessThan(20_000);
}, 120_000);

it("gives each job to one worker alone", async () => {
  const name = aName();
  const seen: JsonObject[] = [];
  const stop = new AbortController();
  const all = signalled();
  const handler = (data: JsonObject): Promise<void> => {
    seen.push(data);
    if (seen.length === 20) all.happen();
    return Promise.resolve();
  };

  const workers = [queue, otherQueue, queue].map((each) => each.work(name, handler, stop.signal));
  for (let number = 0; number < 20; number += 1) await store.transaction((tx) => queue.enqueue(tx, name, { number }));
  await all.happened;
  stop.abort();
  await Promise.all(workers);

  expect(seen.map(({ number }) => number).sort((a, b) => Number(a) - Number(b))).toEqual([...Array(20).keys()]);
}, 60_000);

it("ends its work when aborted, after the job in hand", async () => {
  const name = aName();
  const [begun, may] = [signalled(), signalled()];
  const events: string[] = [];
  const stop = new AbortController();
  const working = queue.work(
    name,
    async (_, signal) => {
      begun.happen();
      await may.happened;
      events.push(signal.aborted ? "job ended, told to stop" : "job ended");
    },
    stop.signal,
  );
  await store.transaction((tx) => queue.enqueue(tx, name, {}));
  await begun.happened;

  stop.abort();
  const ended = working.then(() => events.push("work ended"));
  may.happen();
  await ended;

  expect(events).toEqual(["job ended, told to stop", "work ended"]);
}, 60_000);

it("keeps a job whose handler threw for another try", async () => {
  const name = aName();
  const tried = signalled();
  const stop = new AbortController();
  const working = queue.work(
    name,
    () => {
      tried.happen();
      return Promise.reject(new Error("not today"));
    },
    stop.signal,
  );

  await store.transaction((tx) => queue.enqueue(tx, name, {}));
  await tried.happened;
  stop.abort();
  await working;

  expect(await waiting(name)).toBe(1);
}, 60_000);

it("takes nothing once aborted", async () => {
  const aborted = AbortSignal.abort(new Error("enough"));

  await expect(queue.work(aName(), () => Promise.resolve(), aborted)).rejects.toThrow("enough");
});
