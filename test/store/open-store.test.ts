import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { CountersignError, legalTransitions } from "../../src/domain/index.ts";
import { openStore, type Store } from "../../src/store/index.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store[Symbol.asyncDispose]());

const never = new AbortController().signal;
const open = (databaseUrl: string, signal: AbortSignal = never): Promise<Store> =>
  openStore({ randomBytes, notice: () => undefined }, { databaseUrl, home: "/nonexistent", databaseUid: null }, signal);

/** The embedded server, as an operator's own would be named. */
function urlOf(change: { password?: string; database?: string } = {}): string {
  const password = readFileSync(join(inject("storeHome"), "keys/database-password"), "utf8").trim();
  const url = new URL(store.address);
  url.username = "countersign";
  url.password = change.password ?? password;
  url.pathname = change.database ?? store.database;
  return url.href;
}

const failureOf = (opening: Promise<Store>): Promise<CountersignError> =>
  opening.then(
    () => {
      throw new Error("it was opened");
    },
    (error: unknown) => {
      if (error instanceof CountersignError) return error;
      throw error;
    },
  );

describe("a server of the operator's", () => {
  it("is opened by its address, migrated, and shown without its password", async () => {
    await store.sql("create database by_address");

    await using opened = await open(urlOf({ database: "by_address" }));

    const rows = await opened.db.selectFrom("legal_transitions").select("to_state").execute();
    expect(rows).toHaveLength([...legalTransitions.values()].flat().length);
    expect(opened.kind).toBe("external");
    expect(opened.address).toBe(store.address.replace(store.database, "by_address"));
  });

  it("that does not listen is named with host and port, not with user and password", async () => {
    const failure = await failureOf(open("postgresql://somebody:geheim@127.0.0.1:1/db"));

    expect(failure).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    expect(failure.message).toContain("127.0.0.1:1");
    expect(failure.message).not.toMatch(/geheim|somebody/);
  });

  it("that takes the connection and says nothing is given up after some seconds", async () => {
    const silent = createServer();
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
    const { port } = silent.address() as AddressInfo;

    const failure = await failureOf(open(`postgresql://a:b@127.0.0.1:${port}/db`));

    expect(failure).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    silent.close();
  }, 8_000);

  it.each([
    ["a wrong password", () => urlOf({ password: "geheim" })],
    ["a database that is not there", () => urlOf({ database: "nowhere" })],
  ])("that refuses us for %s is named, without the password", async (_, url) => {
    const failure = await failureOf(open(url()));

    expect(failure).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    expect(`${failure.message} ${JSON.stringify(failure.details)}`).not.toContain("geheim");
  });

  it.each(["", "localhost:5432", "mysql://a:geheim@h/db", "postgresql://a:geheim@[h/db"])(
    "whose address is `%s` is refused without repeating it",
    async (url) => {
      const failure = await failureOf(open(url));

      expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
      expect(`${failure.message} ${failure.cause}`).not.toContain("geheim");
    },
  );

  it("is not opened once aborted, and keeps no connection", async () => {
    await expect(open(urlOf(), AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  });
});

describe("migrations", () => {
  it("are applied once where several processes start together on an empty database", async () => {
    await store.sql("create database together");
    const url = urlOf({ database: "together" });

    const stores = await Promise.all([open(url), open(url), open(url), open(url)]);

    const [first] = stores;
    const rows = await first?.db.selectFrom("legal_transitions").select("to_state").execute();
    expect(rows).toHaveLength([...legalTransitions.values()].flat().length);
    for (const opened of stores) await opened[Symbol.asyncDispose]();
  });

  it("change nothing the second time", async () => {
    await store.sql("insert into ledger_head (origin) values ('countersign/kept') on conflict do nothing");
    const applied = await store.sql("select * from migrations order by name");

    await using again = await openTestStore({ database: store.database });

    expect(await again.db.selectFrom("ledger_head").select(["origin", "size"]).execute()).toEqual([
      { origin: "countersign/kept", size: 0 },
    ]);
    expect(await again.sql("select * from migrations order by name")).toEqual(applied);
  });

  it("of a newer version stop an older one", async () => {
    await using newer = await openTestStore();
    await newer.sql("insert into migrations (name) values ('9999')");

    const failure = await failureOf(openTestStore({ database: newer.database }));

    expect(failure).toMatchObject({ code: "CONFIG_INVALID", details: { migration: "9999" } });
  });
});

describe("a transaction", () => {
  it("is rolled back where the work throws, and the error comes through", async () => {
    const work = store.transaction(async (tx) => {
      await tx
        .insertInto("policy_sets")
        .values({ digest: "d", content: "{}", created_at: "2026-01-01T00:00:00Z" })
        .execute();
      throw new Error("no");
    });

    await expect(work).rejects.toThrow("no");
    expect(await store.db.selectFrom("policy_sets").selectAll().execute()).toEqual([]);
  });

  it("is durable and READ COMMITTED, whatever the server's default", async () => {
    await store.sql(`alter database "${store.database}" set synchronous_commit to off`);
    await store.sql(`alter database "${store.database}" set default_transaction_isolation to serializable`);
    await using again = await openTestStore({ database: store.database });

    const show = (name: string) =>
      again.transaction(
        async (tx) => (await again.sql<{ value: string }>("select current_setting($1) as value", [name], tx))[0]?.value,
      );

    expect(await show("synchronous_commit")).toBe("on");
    expect(await show("transaction_isolation")).toBe("read committed");
  });

  it("whose connection is cut throws LEDGER_UNAVAILABLE, and the next one works", async () => {
    const work = store.transaction(async (tx) => {
      const [row] = await store.sql<{ pid: number }>("select pg_backend_pid() as pid", [], tx);
      await store.sql("select pg_terminate_backend($1)", [row?.pid]);
      await store.sql("select 1", [], tx);
    });

    await expect(work).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE", retryable: true });
    await expect(store.transaction((tx) => store.sql("select 1 as one", [], tx))).resolves.toEqual([{ one: 1 }]);
  });
});

describe("values", () => {
  it("a bigint is a number, and one that would lose digits throws", async () => {
    expect(await store.sql("select 9007199254740991::bigint as n")).toEqual([{ n: 9007199254740991 }]);
    await expect(store.sql("select 9007199254740993::bigint as n")).rejects.toThrow(RangeError);
  });

  it("a time is an ISO text in UTC with milliseconds", async () => {
    const rows = await store.sql("select '2026-01-02T05:04:05.678+02'::timestamptz as t");

    expect(rows).toEqual([{ t: "2026-01-02T03:04:05.678Z" }]);
  });
});
