import type { Kysely } from "kysely";
import type { Database, Transaction } from "./database.ts";
import type { Queue } from "./queue.ts";

/** An open database with the schema up to date. Disposing ends the connections, and the embedded server with its last user. */
export type Store = AsyncDisposable & {
  readonly db: Kysely<Database>;
  /** The same for what the log writes, and reads for that: a statement is given up after 10 s (AUD-53). */
  readonly log: Kysely<Database>;
  readonly kind: "embedded" | "external";
  /** Without user and password. */
  readonly address: string;
  /**
   * READ COMMITTED, durable when it returns; a statement of it is given up after 10 s. Throws `LEDGER_UNAVAILABLE` where the server does not answer (the work may
   * then have been committed, if the connection broke at its end), `LEDGER_CONFLICT` where the lease was lost, and what
   * `work` throws, after rolling back.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Started when first asked for, then the same one. Throws `LEDGER_UNAVAILABLE`. */
  queue(): Promise<Queue>;
};
