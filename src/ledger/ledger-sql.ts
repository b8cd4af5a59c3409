import { sql } from "kysely";
import { advisoryLocks, type Store, type Transaction } from "../store/index.ts";
import type { PreparedBatch } from "./prepare-batch.ts";
import type { TraceSpan } from "./trace/span.ts";

/** Makes the row that names the log where there is none; the log's name as it then stands. */
export function createHeadRow(store: Store, origin: string): Promise<string> {
  return store.transaction(async (tx) => {
    await lockLedger(tx);
    await sql`insert into ledger_head (origin) values (${origin}) on conflict do nothing`.execute(tx);
    const head = await tx.selectFrom("ledger_head").select("origin").executeTakeFirstOrThrow();
    return head.origin;
  });
}

/** Held until the transaction ends (AUD-40). A statement of its own: the next one then sees all that was committed before. */
export async function lockLedger(tx: Transaction): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLocks.ledger})`.execute(tx);
}

/**
 * Writes a batch in one statement, so that it needs no transaction around it: lock, entries with all that triggers derive
 * from them, subtrees, spans that they complete, sealed texts. Durable at its commit whatever the server's default is
 * (AUD-4). A span whose id is taken already is left out: a fault in the trace must not keep an entry from being recorded,
 * and is found by the count of lost spans.
 */
export async function insertBatch(
  db: Store["db"] | Transaction,
  batch: PreparedBatch,
  spans: readonly TraceSpan[],
): Promise<void> {
  const { entries, nodes, fields } = batch;
  const time = entries[0]?.time ?? null;
  await sql`
    with locked as materialized (
      select pg_advisory_xact_lock(${advisoryLocks.ledger}) as lock, set_config('synchronous_commit', 'on', true) as durable
    ), added as (
      insert into ledger_entries (index, body, leaf_hash, fencing_token)
      select entry.* from locked, unnest(
        ${entries.map(({ index }) => index)}::bigint[], ${batch.bodies}::bytea[], ${batch.leafHashes}::bytea[],
        ${entries.map(({ fencingToken }) => fencingToken)}::bigint[]
      ) as entry (index, body, leaf_hash, fencing_token) order by entry.index
    ), grown as (
      insert into ledger_nodes (level, position, hash)
      select node.* from locked, unnest(
        ${nodes.map(({ level }) => level)}::smallint[], ${nodes.map(({ position }) => position)}::bigint[],
        ${nodes.map(({ hash }) => hash)}::bytea[]
      ) as node
    ), traced as (
      insert into span_outbox (run_id, entry_index, trace_id, span_id, span, created_at)
      select span.*, ${time}::timestamptz from locked, unnest(
        ${spans.map(({ runId }) => runId)}::uuid[], ${spans.map(({ entryIndex }) => entryIndex)}::bigint[],
        ${spans.map(({ traceId }) => traceId)}::text[], ${spans.map(({ spanId }) => spanId)}::text[],
        ${spans.map((span) => JSON.stringify(span))}::json[]
      ) as span on conflict do nothing
    )
    insert into sealed (run_id, action_id, field, entry_index, key_id, nonce, ciphertext, commitment, created_at)
    select text.*, ${time}::timestamptz from locked, unnest(
      ${fields.map(({ runId }) => runId)}::uuid[], ${fields.map(({ actionId }) => actionId)}::uuid[],
      ${fields.map(({ field }) => field)}::text[], ${fields.map(({ at }) => entries[at]?.index ?? null)}::bigint[],
      ${fields.map(({ sealed }) => sealed.keyId)}::text[], ${fields.map(({ sealed }) => sealed.nonce)}::bytea[],
      ${fields.map(({ sealed }) => sealed.ciphertext)}::bytea[], ${fields.map(({ commitment }) => commitment)}::text[]
    ) as text`.execute(db);
}
