import { sql } from "kysely";
import type { Store, Transaction } from "../store/index.ts";
import type { TreeNode } from "./merkle.ts";
import {
  type DerivedRow,
  type DerivedTable,
  derivedTables,
  type StoredEntry,
  type StoredLog,
  type StoredPage,
  type StoredText,
} from "./stored-log.ts";

const entriesPerPage = 1000;

/**
 * Runs `verify` over one unchanging view of the whole log while others may go on writing. Rows come in pages; memory does
 * not grow with the bodies. Throws `LEDGER_UNAVAILABLE`.
 */
export function readForVerification<T>(store: Store, verify: (log: StoredLog) => Promise<T>): Promise<T> {
  return store.db
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async (tx) => {
      const head = await tx.selectFrom("ledger_head").select(["origin", "size"]).executeTakeFirst();
      return verify({ head: head ?? null, pages: readPages(tx), derived: readDerived(tx) });
    });
}

async function* readPages(tx: Transaction): AsyncGenerator<StoredPage> {
  let from = 0;
  for (;;) {
    const entries = await readEntries(tx, from);
    const last = entries.at(-1);
    const isLast = entries.length < entriesPerPage;
    const end = isLast || last === undefined ? null : last.index + 1;
    yield { entries, nodes: await readNodes(tx, from, end), texts: await readTexts(tx, from, end) };
    if (end === null) return;
    from = end;
  }
}

async function readEntries(tx: Transaction, from: number): Promise<readonly StoredEntry[]> {
  const rows = await tx
    .selectFrom("ledger_entries")
    .selectAll()
    .where("index", ">=", from)
    .orderBy("index")
    .limit(entriesPerPage)
    .execute();
  return rows.map((row) => ({
    index: row.index,
    body: row.body,
    leafHash: row.leaf_hash,
    fencingToken: row.fencing_token,
    copies: {
      id: row.id,
      type: row.type,
      runId: row.run_id,
      runSeq: row.run_seq,
      actionId: row.action_id,
      state: row.state,
      attempt: row.attempt,
      try: row.try,
      decisionId: row.decision_id,
      deliveryId: row.delivery_id,
      parentId: row.parent_id,
      traceId: row.trace_id,
      time: row.time,
    },
  }));
}

/** Subtrees completed by the leaves from `from` to before `end`; where `end` is null also those that belong to none. */
async function readNodes(tx: Transaction, from: number, end: number | null): Promise<readonly TreeNode[]> {
  const { rows } = await sql<TreeNode>`
    select node.level, node.position, node.hash
    from generate_series(0, ${end === null ? 0 : 52}::integer) as one_level
    join ledger_nodes node on ${
      end === null
        ? sql`(node.position + 1)::numeric * 2::numeric ^ node.level > ${from}`
        : sql`node.level = one_level and node.position >= ${from}::bigint >> one_level
            and node.position < ${end}::bigint >> one_level`
    }`.execute(tx);
  return rows;
}

async function readTexts(tx: Transaction, from: number, end: number | null): Promise<readonly StoredText[]> {
  const ofPage = tx.selectFrom("sealed").selectAll().orderBy("id");
  const rows = await (end === null
    ? ofPage.where((where) => where.or([where("entry_index", ">=", from), where("entry_index", "is", null)]))
    : ofPage.where("entry_index", ">=", from).where("entry_index", "<", end)
  ).execute();
  return rows.map((row) => ({
    entryIndex: row.entry_index,
    runId: row.run_id,
    actionId: row.action_id,
    field: row.field,
    keyId: row.key_id,
    nonce: row.nonce,
    ciphertext: row.ciphertext,
    commitment: row.commitment,
    createdAt: row.created_at,
  }));
}

async function* readDerived(tx: Transaction): AsyncGenerator<DerivedRow> {
  for (const table of Object.keys(derivedTables) as DerivedTable[]) {
    for await (const columns of readTable(tx, table)) yield { table, columns };
  }
}

async function* readTable(tx: Transaction, table: DerivedTable): AsyncGenerator<DerivedRow["columns"]> {
  const key = sql.join(derivedTables[table].map((column) => sql.ref(column)));
  let after = sql``;
  for (;;) {
    const { rows } = await sql<DerivedRow["columns"]>`
      select * from ${sql.table(table)} ${after} order by ${key} limit ${entriesPerPage}`.execute(tx);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < entriesPerPage) return;
    after = sql`where (${key}) > (${sql.join(derivedTables[table].map((column) => last[column]))})`;
  }
}
