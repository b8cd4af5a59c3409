import { CountersignError } from "../domain/index.ts";

type Query = (text: string, values: unknown[]) => Promise<unknown>;

/** Statements whose answer was not waited for to its end. */
export type AbandonedStatements = {
  readonly add: (connection: object) => void;
  /** Ends them. Throws `LEDGER_UNAVAILABLE` where one goes on: what it does would come after what is to come after it. */
  readonly end: (query: Query) => Promise<void>;
};

/** The longest that a server process may take to end; one that waits for its disk can't be interrupted. */
const endWithinMs = 2_000;

/**
 * A frozen server does what it was sent once it wakes, whether or not anybody waits for it: a commit could then come after its
 * absence was read. So the server's process for each such connection is ended before anything else is asked; after that
 * what it was sent is done, and can be read, or never will be.
 */
export function createAbandonedStatements(): AbandonedStatements {
  const pids = new Set<number>();
  return {
    add: (connection) => {
      // Given by the server at log-in (PostgreSQL documentation, `BackendKeyData`); the driver's types don't have it.
      const { processID: pid } = connection as { readonly processID?: number | null };
      if (typeof pid === "number") pids.add(pid);
    },
    end: async (query) => {
      if (pids.size === 0) return;
      const asked = [...pids];
      const ours = "from pg_stat_activity where pid = any($1::int[]) and usename = current_user";
      const others = `${ours} and datname = current_database() and pid <> pg_backend_pid()`;
      await query(`select pg_terminate_backend(pid, ${endWithinMs}) ${others}`, [asked]);
      const left = (await query(`select pid ${others}`, [asked])) as { readonly rows: readonly unknown[] };
      if (left.rows.length > 0) {
        throw new CountersignError("LEDGER_UNAVAILABLE", "an earlier statement that gave no answer is still under way");
      }
      for (const pid of asked) pids.delete(pid);
    },
  };
}
