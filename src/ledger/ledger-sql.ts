import { CompiledQuery, sql } from "kysely";
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
 * from them, subtrees, spans that they complete, sealed texts. The function is the database's own (migration 0009), so that
 * each connection plans what it does but once.
 */
export async function insertBatch(
  db: Store["db"] | Transaction,
  batch: PreparedBatch,
  spans: readonly TraceSpan[],
): Promise<void> {
  const { entries, nodes, fields } = batch;
  // By the names and in the order of the function's parameters; told by name, the server would sort them at each append.
  const values: Readonly<Record<string, unknown>> = {
    indexes: entries.map(({ index }) => index),
    bodies: batch.bodies,
    leaf_hashes: batch.leafHashes,
    fencing_tokens: entries.map(({ fencingToken }) => fencingToken),
    node_levels: nodes.map(({ level }) => level),
    node_positions: nodes.map(({ position }) => position),
    node_hashes: nodes.map(({ hash }) => hash),
    span_runs: spans.map(({ runId }) => runId),
    span_entries: spans.map(({ entryIndex }) => entryIndex),
    span_traces: spans.map(({ traceId }) => traceId),
    span_ids: spans.map(({ spanId }) => spanId),
    spans: spans.map((span) => JSON.stringify(span)),
    text_runs: fields.map(({ runId }) => runId),
    text_actions: fields.map(({ actionId }) => actionId),
    text_fields: fields.map(({ field }) => field),
    text_entries: fields.map(({ at }) => entries[at]?.index ?? null),
    text_keys: fields.map(({ sealed }) => sealed.keyId),
    text_nonces: fields.map(({ sealed }) => sealed.nonce),
    ciphertexts: fields.map(({ sealed }) => sealed.ciphertext),
    commitments: fields.map(({ commitment }) => commitment),
    written_at: entries[0]?.time ?? null,
  };
  const places = Object.keys(values).map((_, at) => `$${at + 1}`);
  await db.executeQuery(CompiledQuery.raw(`select append_entries(${places.join(", ")})`, Object.values(values)));
}
