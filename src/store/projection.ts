import { sql } from "kysely";
import { advisoryLocks } from "./advisory-locks.ts";
import type { Transaction } from "./database.ts";

/**
 * Drops the projection of the actions and makes it again from the ledger (AUD-2). Holds the ledger's lock to the end of
 * the transaction, so that no entry comes in between.
 */
export async function rebuildProjection(tx: Transaction): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLocks.ledger})`.execute(tx);
  await sql`delete from actions`.execute(tx);
  // Called row by row in the order of the index: each state has to overwrite the one before.
  await sql`do $$
    declare e ledger_entries;
    begin
      for e in select * from ledger_entries where type = 'action' order by index loop
        perform project_action(e);
      end loop;
    end $$`.execute(tx);
}
