import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { openStore, type Store, type Transaction } from "../../src/store/index.ts";

/** A store in the run's embedded server, with SQL as text for what the table types forbid. */
export type TestStore = Store & {
  /** Give it to `openTestStore` to open the same database a second time. */
  readonly database: string;
  sql<Row>(text: string, values?: readonly unknown[], within?: Transaction): Promise<readonly Row[]>;
};

/** Opens a fresh database, with all migrations. Close it with `await using` or `Symbol.asyncDispose`. */
export async function openTestStore(options: { database?: string } = {}): Promise<TestStore> {
  const database = options.database ?? `test_${randomBytes(8).toString("hex")}`;
  const store = await openStore(
    { randomBytes, notice: () => undefined },
    { databaseUrl: null, home: inject("storeHome"), databaseUid: null, database },
    new AbortController().signal,
  );
  const sql = async <Row>(
    text: string,
    values: readonly unknown[] = [],
    within?: Transaction,
  ): Promise<readonly Row[]> => {
    const executor = within ?? store.db;
    const raw = { sql: text, parameters: values, query: { kind: "RawNode", sqlFragments: [text], parameters: [] } };
    const query = { ...raw, queryId: { queryId: "test" } } as unknown as Parameters<
      typeof executor.executeQuery<Row>
    >[0];
    return (await executor.executeQuery<Row>(query)).rows;
  };
  return Object.assign(store, { database, sql });
}

/** The address with its password, for a process of its own that opens the same database by `DATABASE_URL`. */
export function databaseUrlOf({ address }: Pick<TestStore, "address">): string {
  const password = readFileSync(join(inject("storeHome"), "keys", "database-password"), "utf8").trim();
  const url = new URL(address);
  url.username = "countersign";
  url.password = password;
  return url.href;
}
