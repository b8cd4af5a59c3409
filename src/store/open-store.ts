import { sql } from "kysely";
import { CountersignError, isCountersignError } from "../domain/index.ts";
import { type Address, addressOf, type ConnectionPool, createKysely, createPool } from "./connection.ts";
import { migrate } from "./migrate.ts";
import type { Store } from "./store.ts";

/** PostgreSQL 14: the oldest version the SQL here is made for. */
const oldestServer = 140_000;

export type StoreOptions = { readonly databaseUrl: string };

/** Opens a server of the operator's. Throws `CONFIG_INVALID` or `DATABASE_UNREACHABLE`; never leaves a connection behind. */
export async function openStore({ databaseUrl }: StoreOptions): Promise<Store> {
  const address = addressOf(databaseUrl);
  const pool = createPool(databaseUrl, address);
  try {
    await prepare(pool, address);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return createStore("external", pool, address);
}

async function prepare(pool: ConnectionPool, address: Address): Promise<void> {
  const client = await pool.connect().catch((error: unknown) => {
    const cause = isCountersignError(error) ? (error.cause ?? error) : error;
    const reason = cause instanceof Error ? cause.message : "no answer";
    throw new CountersignError("DATABASE_UNREACHABLE", `the database at \`${address.text}\` can't be used: ${reason}`, {
      cause,
    });
  });
  try {
    const version = await client.query<{ number: number }>(
      "select current_setting('server_version_num')::integer as number",
      [],
    );
    const number = version.rows[0]?.number ?? 0;
    if (number < oldestServer) {
      throw new CountersignError("CONFIG_INVALID", `the server at \`${address.host}\` is PostgreSQL \`${number}\``, {
        remedy: "set DATABASE_URL to a server of version 14 or newer",
      });
    }
    await migrate(client);
  } finally {
    client.release();
  }
}

function createStore(kind: Store["kind"], pool: ConnectionPool, address: Address): Store {
  const db = createKysely(pool);
  return {
    db,
    kind,
    address: address.text,
    transaction: (work) =>
      db
        .transaction()
        .setIsolationLevel("read committed")
        .execute(async (tx) => {
          // An operator's server may have it off by default; an entry that can be lost proves nothing (AUD-4).
          await sql`set local synchronous_commit to on`.execute(tx);
          return work(tx);
        }),
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}
