import type { Kysely, Transaction as KyselyTransaction } from "kysely";
import type { Database } from "./database.ts";

/** One transaction; passed on to rooms that write beside others. */
export type Transaction = KyselyTransaction<Database>;

/** An open database with the schema up to date. Disposing ends the connections, and the embedded server with its last user. */
export type Store = AsyncDisposable & {
  readonly db: Kysely<Database>;
  readonly kind: "embedded" | "external";
  /** Without user and password. */
  readonly address: string;
  /**
   * READ COMMITTED, durable when it returns. Throws `LEDGER_UNAVAILABLE` where the server does not answer (the work may
   * then have been committed, if the connection broke at its end), `LEDGER_CONFLICT` where the lease was lost, and what
   * `work` throws, after rolling back.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
};
