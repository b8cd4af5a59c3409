/** Migration 0002: webhook deliveries, and what a run that was asked for on GitHub has more. */
export const second = {
  name: "0002",
  statements: [
    `alter table runs
      add column installation_id bigint,
      add column item_kind text check (item_kind in ('issue', 'pull_request')),
      add column trigger_verb text check (trigger_verb in ('fix', 'revise', 'retry')),
      add column delivery_id text,
      add column triggered_at timestamptz(3),
      add column stop_requested_at timestamptz(3),
      add column stop_requested_by_id text,
      add column stop_requested_by_login text,
      add column stop_cause text,
      add constraint runs_stop check ((stop_requested_at is null) = (stop_cause is null))`,
    // SEC-35, GH-34: one live run per item. What is no item, an issue in a local file, has no number.
    `create unique index runs_live_item on runs (repository_id, issue_number)
      where status <> 'completed' and issue_number is not null`,
    `create index runs_repository on runs (repository_id, started_at desc)`,
    `create index runs_requester on runs (requester_id, started_at desc)`,
    `create index runs_live_installation on runs (installation_id)
      where status <> 'completed' and installation_id is not null`,
    // GH-31: two unique keys. A null business key stands for a delivery that asked for nothing.
    `create table deliveries (
      delivery_id text primary key,
      business_key text unique,
      received_at timestamptz(3) not null,
      event text not null,
      result text not null check (result in ('started', 'stopped', 'refused', 'answered', 'ignored')),
      code text not null,
      answer text check (answer in ('comment', 'confused')),
      run_id uuid,
      installation_id bigint,
      repository_id text,
      item_number bigint,
      comment_id bigint,
      sender_id text,
      detail jsonb not null,
      constraint deliveries_started check (result <> 'started' or run_id is not null)
    )`,
    `create index deliveries_received on deliveries (received_at)`,
  ],
} as const;
