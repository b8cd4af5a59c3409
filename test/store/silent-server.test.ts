import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { addressOf, createPool } from "../../src/store/connection.ts";
import { openStore, type Store } from "../../src/store/index.ts";
import { type FreezingProxy, openFreezingProxy } from "../support/freezing-proxy.ts";
import { databaseUrlOf, openTestStore, type TestStore } from "../support/test-store.ts";

let direct: TestStore;
let proxy: FreezingProxy;
let store: Store;
beforeAll(async () => {
  direct = await openTestStore();
  proxy = await openFreezingProxy(databaseUrlOf(direct));
  const options = { databaseUrl: proxy.url, home: "/nonexistent", databaseUid: null };
  const deps = { randomBytes: () => new Uint8Array(), notice: () => undefined };
  store = await openStore(deps, options, new AbortController().signal);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await direct[Symbol.asyncDispose]();
});

const add = (digest: string): Promise<unknown> =>
  store.log.insertInto("policy_sets").values({ digest, content: "{}", created_at: "2026-01-01T00:00:00Z" }).execute();
const digestsIn = async (from: Store): Promise<readonly string[]> =>
  (await from.db.selectFrom("policy_sets").select("digest").orderBy("digest").execute()).map(({ digest }) => digest);
/** What is asked right after the outage was found is refused at once, without a new look. */
const onceBack = <T>(work: () => Promise<T>): Promise<T> => vi.waitFor(work, { timeout: 60_000, interval: 50 });
const digests = (): Promise<readonly string[]> => digestsIn(store);
const unavailable = { code: "LEDGER_UNAVAILABLE", retryable: true };
/** By a look at the server, long before what a statement may take is over. */
const gone = { ...unavailable, cause: { message: "the server gives no sign of life" } };

describe("a server that is frozen (AUD-53, AUD-59)", () => {
  it("is given up in the middle of a transaction, the rollback included", async () => {
    const work = store.transaction(async (tx) => {
      proxy.freeze();
      await tx.selectFrom("policy_sets").select("digest").execute();
    });

    await expect(work).rejects.toMatchObject(gone);
    proxy.thaw();
    await onceBack(() => add("after-thaw"));
  });

  it("is given up by a new connection too, and by all who wait", async () => {
    proxy.freeze();
    const ended = await Promise.allSettled([add("a"), add("b"), digests(), store.transaction(() => Promise.resolve())]);

    for (const one of ended) expect(one).toMatchObject({ status: "rejected", reason: gone });
    proxy.thaw();
    expect(await onceBack(digests)).toEqual(["after-thaw"]);
    await proxy.deliver();
  });

  it("does nothing later of what it was asked for: whether it is there is certain before the next statement", async () => {
    await onceBack(digests); // there is a connection
    proxy.freeze();
    await expect(add("late")).rejects.toMatchObject(gone);
    proxy.thaw();

    const read = await onceBack(digests);
    await proxy.deliver(); // the frozen process would now find the statement that nobody waits for

    expect(await digestsIn(direct)).toEqual(read);
  });
});

describe("a server that lives", () => {
  it("may take its time: a slow disk is no outage", async () => {
    await expect(direct.sql("select pg_sleep(1)")).resolves.toHaveLength(1);
  });

  it("is given up by a statement that takes longer than it may", async () => {
    const url = databaseUrlOf(direct);
    const pool = createPool(url, addressOf(url));
    const client = await pool.connect(50);

    const given = await client.query("select pg_sleep(30)", []).catch((error: unknown) => error);
    expect(given).toMatchObject(unavailable);
    await expect(client.query("rollback", [])).rejects.toBe(given); // not waited for as long again
    client.release();
    await pool.end();
  });
});
