import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { Client } from "pg";
import { inject } from "vitest";
import { openStore, type Store, type Transaction } from "../../src/store/index.ts";
import { templateDatabase } from "./test-store-setup.ts";

/** A store in the run's embedded server, with SQL as text for what the table types forbid. */
export type TestStore = Store & {
  /** Give it to `openTestStore` to open the same database a second time. */
  readonly database: string;
  sql<Row>(text: string, values?: readonly unknown[], within?: Transaction): Promise<readonly Row[]>;
};

/** Opens a fresh database, with all migrations. Close it with `await using` or `Symbol.asyncDispose`. */
export async function openTestStore(options: { database?: string } = {}): Promise<TestStore> {
  const database = options.database ?? (await copyTemplate());
  const databaseUrl = isStoreHomeOurs() ? null : databaseUrlOf({ database });
  const store = await openStore(
    { randomBytes, notice: () => undefined },
    { databaseUrl, home: inject("storeHome"), databaseUid: null, database },
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

/** Not where the tests of a file have given root up (test/support/ordinary-user.ts): the folder is root's. */
export const isStoreHomeOurs = (): boolean => statSync(inject("storeHome")).uid === process.geteuid?.();

async function copyTemplate(): Promise<string> {
  const database = `test_${randomBytes(8).toString("hex")}`;
  const client = new Client({ connectionString: inject("serverUrl") });
  await client.connect();
  try {
    await client.query(`create database "${database}" template ${templateDatabase}`);
  } finally {
    await client.end();
  }
  return database;
}

/** The address with its password, for a process of its own that opens the same database by `DATABASE_URL`. */
export function databaseUrlOf({ database }: Pick<TestStore, "database">): string {
  const url = new URL(inject("serverUrl"));
  url.pathname = `/${database}`;
  return url.href;
}
