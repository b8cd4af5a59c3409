/**
 * Migration 0007: when what was asked to stop happened, whether or not a run was there, so that a trigger that is older and
 * is stored later starts nothing (GH-13); and which missed deliveries GitHub would not send again (GH-32);
 * and the row that a probe of the log writes.
 */
export const seventh = {
  name: "0007",
  statements: [
    `alter table deliveries add column stop_at timestamptz(3), add column stop_repository_ids jsonb`,
    `create index deliveries_stop on deliveries (stop_at) where stop_at is not null`,
    `create table refused_redeliveries (
      guid text primary key,
      refusals integer not null check (refusals >= 1),
      code text not null,
      not_before timestamptz(3) not null,
      delivered_at timestamptz(3) not null
    )`,
    // AUD-11: what the last start found, so that a change is an entry. Null until the first start.
    `alter table service_state add column operator_digest text, add column policy_set_digest text`,
    // AUD-60: what a probe writes, so that a log that can be read but not written is found.
    `create table log_probe (
      singleton boolean primary key generated always as (true) stored,
      at timestamptz(3) not null
    )`,
  ],
} as const;
