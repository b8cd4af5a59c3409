/**
 * Migration 0003: completed spans on their way to a receiver (AUD-69). They follow from the ledger and can be made again
 * from it; nothing is proved by them. `trace_start`: entries before this index owe no span, they are older than the table.
 */
export const third = {
  name: "0003",
  statements: [
    `create table span_outbox (
      id bigint primary key generated always as identity,
      run_id uuid not null,
      entry_index bigint not null references ledger_entries deferrable initially deferred,
      trace_id text not null check (trace_id ~ '^[0-9a-f]{32}$'),
      span_id text not null check (span_id ~ '^[0-9a-f]{16}$'),
      span json not null,
      state text not null default 'pending' check (state in ('pending', 'sent', 'rejected')),
      refusals integer not null default 0 check (refusals >= 0),
      not_before timestamptz(3),
      sent_at timestamptz(3),
      created_at timestamptz(3) not null,
      constraint span_outbox_span unique (trace_id, span_id),
      constraint span_outbox_sent check ((state = 'sent') = (sent_at is not null))
    )`,
    `create index span_outbox_pending on span_outbox (refusals, id) where state = 'pending'`,
    `create index span_outbox_run on span_outbox (run_id)`,
    `create index span_outbox_entry on span_outbox (entry_index)`,
    `create table trace_start (singleton boolean primary key generated always as (true) stored, index bigint not null)`,
    `insert into trace_start (index) values (coalesce((select size from ledger_head), 0))`,
  ],
} as const;
