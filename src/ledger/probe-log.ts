import { sql } from "kysely";
import type { Store } from "../store/index.ts";
import { lockLedger } from "./ledger-sql.ts";
import { asLedgerError } from "./write-job.ts";

/** What a probe found of the log. */
export type ProbedLog = { readonly sizeEntries: number };

/**
 * Whether the log can be written, by writing: its lock is taken, an insert of no entry asks for every right to it, and a row
 * of the probe's own is committed durably (AUD-60). Throws what `append` throws; takes no longer than the limit.
 */
export async function probeLog(store: Store, limitMs: number): Promise<ProbedLog> {
  try {
    return await store.transaction(async (tx) => {
      await sql`select set_config('lock_timeout', ${String(limitMs)}, true),
        set_config('statement_timeout', ${String(limitMs)}, true)`.execute(tx);
      await lockLedger(tx);
      await sql`insert into ledger_entries (index, body, leaf_hash)
        select 0, ''::bytea, ''::bytea where false`.execute(tx);
      await sql`insert into log_probe (at) values (now()) on conflict (singleton) do update set at = now()`.execute(tx);
      const head = await tx.selectFrom("ledger_head").select("size").executeTakeFirstOrThrow();
      return { sizeEntries: head.size };
    });
  } catch (error) {
    throw asLedgerError(error);
  }
}
