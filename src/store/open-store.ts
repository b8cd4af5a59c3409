import { sql } from "kysely";
import { CountersignError, isCountersignError, type RandomBytes } from "../domain/index.ts";
import {
  type Address,
  addressOf,
  type ConnectionPool,
  createKysely,
  createPool,
  writeTimeoutMs,
} from "./connection.ts";
import { useEmbeddedServer } from "./embedded-server.ts";
import { migrate } from "./migrate.ts";
import { type StartedQueue, startQueue } from "./queue.ts";
import type { UserId } from "./service-folder.ts";
import type { Store } from "./store.ts";

export type StoreDeps = {
  readonly randomBytes: RandomBytes;
  /** Given a line for the user when something unusual was done, such as ending a server that was left behind. */
  notice(line: string): void;
};

export type StoreOptions = {
  /** Null: the embedded server below `home`. */
  readonly databaseUrl: string | null;
  /** Folder of the service; made where it is missing. */
  readonly home: string;
  /** Whom the embedded server runs as where we are root; null: user and group 64199. No effect for others. */
  readonly databaseUid: UserId | null;
  /** Name of the database in the embedded server; `countersign` where not given. */
  readonly database?: string;
};

/** PostgreSQL 14: the oldest version the SQL here is made for. */
const oldestServer = 140_000;

/**
 * Opens the database, brings its schema up to date, and for the embedded one starts the server or joins it. Leaves
 * nothing behind when it throws: `CONFIG_INVALID`, `DATABASE_UNREACHABLE`, the reason of `signal`, and for the embedded
 * server `STORE_PATH_UNREACHABLE`, `DISK_FULL`, `BUBBLEWRAP_MISSING`, `KEYS_UNUSABLE`, `LOCK_HELD`,
 * `EMBEDDED_DATABASE_FAILED`.
 */
export async function openStore(deps: StoreDeps, options: StoreOptions, signal: AbortSignal): Promise<Store> {
  if (options.databaseUrl !== null) {
    return connect(
      deps,
      { kind: "external", databaseUrl: options.databaseUrl, release: async () => undefined },
      signal,
    );
  }
  const { home, databaseUid, database = "countersign" } = options;
  const server = await useEmbeddedServer(deps, { home, databaseUid, database }, signal);
  return connect(deps, { kind: "embedded", ...server }, signal);
}

type Server = { readonly kind: Store["kind"]; readonly databaseUrl: string; release(): Promise<void> };

async function connect(deps: StoreDeps, server: Server, signal: AbortSignal): Promise<Store> {
  const close = new AsyncDisposableStack();
  try {
    close.defer(server.release);
    const address = addressOf(server.databaseUrl);
    const pool = createPool(server.databaseUrl, address);
    close.defer(() => pool.end());
    await prepare(pool, address, signal);
    return createStore(deps, server, { pool, address, close });
  } catch (error) {
    await close.disposeAsync();
    throw error;
  }
}

async function prepare(pool: ConnectionPool, address: Address, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
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
    signal.throwIfAborted();
  } finally {
    client.release();
  }
}

type Connected = {
  readonly pool: ConnectionPool;
  readonly address: Address;
  /** What is to be ended, last first. */
  readonly close: AsyncDisposableStack;
};

function createStore(deps: StoreDeps, server: Server, { pool, address, close }: Connected): Store {
  const db = createKysely(pool);
  const log = createKysely(pool, writeTimeoutMs);
  let queue: Promise<StartedQueue> | null = null;
  const start = async (): Promise<StartedQueue> => {
    const started = await startQueue(deps, server.databaseUrl);
    close.defer(started.stop);
    return started;
  };
  return {
    db,
    log,
    kind: server.kind,
    address: address.text,
    transaction: (work) =>
      log
        .transaction()
        .setIsolationLevel("read committed")
        .execute(async (tx) => {
          // An operator's server may have it off by default; an entry that can be lost proves nothing (AUD-4).
          await sql`set local synchronous_commit to on`.execute(tx);
          return work(tx);
        }),
    queue: () => {
      queue ??= start().catch((error: unknown) => {
        queue = null;
        throw error;
      });
      return queue;
    },
    [Symbol.asyncDispose]: async () => {
      // One that is just being started has to be there before it can be stopped.
      await queue?.catch(() => undefined);
      await close.disposeAsync();
    },
  };
}
