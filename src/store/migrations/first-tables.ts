/** The log, and what its triggers derive from it. */
export const ledgerTables = [
  // AUD-40: one row, one writer at a time; its row lock is what keeps the index dense even without the advisory lock.
  `create table ledger_head (
    singleton boolean primary key generated always as (true) stored,
    origin text not null,
    size bigint not null default 0 check (size >= 0)
  )`,
  `create table ledger_entries (
    index bigint primary key check (index >= 0),
    body bytea not null check (octet_length(body) <= 16384),
    leaf_hash bytea not null,
    fencing_token bigint check (fencing_token >= 0),
    id uuid not null unique,
    type text not null check (type in ('action', 'decision', 'turn', 'run', 'service')),
    run_id uuid,
    run_seq bigint check (run_seq >= 0),
    action_id uuid,
    state text,
    attempt integer not null check (attempt >= 0),
    try integer check (try >= 1),
    decision_id uuid,
    delivery_id text,
    parent_id uuid,
    trace_id text check (trace_id ~ '^[0-9a-f]{32}$'),
    time timestamptz(3) not null,
    constraint ledger_entries_leaf_hash check (leaf_hash = sha256('\\x00'::bytea || body)),
    constraint ledger_entries_run_seq unique (run_id, run_seq),
    constraint ledger_entries_run check ((run_id is null) = (run_seq is null)),
    constraint ledger_entries_action check (type <> 'action' or action_id is not null),
    constraint ledger_entries_state check ((type = 'action') = (state is not null)),
    constraint ledger_entries_decision check (type <> 'decision' or (action_id is not null and decision_id is not null)),
    constraint ledger_entries_started check (state <> 'started' or try is not null)
  )`,
  `create index ledger_entries_action on ledger_entries (action_id, index) where action_id is not null`,
  `create index ledger_entries_trace on ledger_entries (trace_id) where trace_id is not null`,
  `create index ledger_entries_time on ledger_entries (time)`,
  `create table ledger_nodes (
    level smallint not null check (level >= 0),
    position bigint not null check (position >= 0),
    hash bytea not null check (octet_length(hash) = 32),
    primary key (level, position)
  )`,
  `create table run_heads (run_id uuid primary key, size bigint not null, fencing_token bigint)`,
  `create table legal_transitions (from_state text, to_state text not null)`,
  `create unique index legal_transitions_pair on legal_transitions (coalesce(from_state, ''), to_state)`,
  `create table actions (
    action_id uuid primary key,
    run_id uuid,
    tool text,
    state text not null,
    try integer not null,
    decision_id uuid,
    first_index bigint not null,
    last_index bigint not null,
    proposed_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
  )`,
  `create index actions_run on actions (run_id, first_index)`,
  `create index actions_state on actions (state)`,
  `create table decisions (
    decision_id uuid primary key,
    action_id uuid not null,
    effect text not null check (effect in ('allow', 'deny', 'require_approval')),
    policy_ids text[] not null,
    entry_index bigint not null unique references ledger_entries,
    unique (decision_id, action_id, effect)
  )`,
  `create index decisions_action on decisions (action_id)`,
  // AUD-5: authorized needs a decision, of this action, that allows.
  `create table authorizations (
    action_id uuid primary key,
    decision_id uuid not null,
    effect text not null default 'allow' check (effect = 'allow'),
    entry_index bigint not null unique references ledger_entries,
    constraint authorizations_decision foreign key (decision_id, action_id, effect)
      references decisions (decision_id, action_id, effect)
  )`,
  `create table intents (
    action_id uuid primary key constraint intents_authorization references authorizations,
    entry_index bigint not null unique references ledger_entries
  )`,
  `create table starts (
    action_id uuid not null constraint starts_intent references intents,
    try integer not null check (try >= 1),
    entry_index bigint not null unique references ledger_entries,
    primary key (action_id, try)
  )`,
];

/** What is written beside the log, in the same transactions. */
export const searchTables = [
  `create table service_state (
    singleton boolean primary key generated always as (true) stored,
    paused boolean not null default false,
    changed_at timestamptz(3) not null default now()
  )`,
  `insert into service_state default values`,
  `create table runs (
    run_id uuid primary key,
    trace_id text not null unique check (trace_id ~ '^[0-9a-f]{32}$'),
    repository_id text not null,
    repository_name text not null,
    requester_id text not null,
    requester_login text not null,
    requester_permission text not null check (requester_permission in ('admin', 'maintain', 'write', 'read', 'none')),
    issue_number integer,
    base_sha text not null,
    status text not null check (status in ('queued', 'in_progress', 'waiting', 'completed')),
    conclusion text
      check (conclusion in ('success', 'failure', 'cancelled', 'timed_out', 'action_required', 'neutral')),
    stop_reason text,
    attempt integer not null default 0 check (attempt >= 0),
    fencing_token bigint not null default 0 check (fencing_token >= 0),
    lease_owner text,
    lease_expires_at timestamptz(3),
    started_at timestamptz(3) not null,
    completed_at timestamptz(3),
    limits jsonb not null,
    constraint runs_conclusion check ((status = 'completed') = (conclusion is not null)),
    constraint runs_lease check ((lease_owner is null) = (lease_expires_at is null))
  )`,
  `create index runs_started on runs (started_at desc)`,
  `create index runs_open on runs (status, lease_expires_at) where status <> 'completed'`,
  `create table sealed (
    id bigint primary key generated always as identity,
    run_id uuid not null,
    action_id uuid,
    field text not null,
    entry_index bigint references ledger_entries deferrable initially deferred,
    key_id text not null,
    nonce bytea not null,
    ciphertext bytea not null,
    commitment text,
    created_at timestamptz(3) not null
  )`,
  // Ciphertext doesn't compress: don't let PostgreSQL try.
  `alter table sealed alter column ciphertext set storage external`,
  `create index sealed_action on sealed (action_id, field) where action_id is not null`,
  `create index sealed_run on sealed (run_id, field)`,
  `create index sealed_key on sealed (key_id)`,
  `create index sealed_entry on sealed (entry_index) where entry_index is not null`,
  `create table policy_sets (digest text primary key, content jsonb not null, created_at timestamptz(3) not null)`,
  `create table approvals (
    approval_id uuid primary key,
    action_id uuid not null unique,
    run_id uuid not null,
    bindings jsonb not null,
    expires_at timestamptz(3) not null
  )`,
  `create index approvals_run on approvals (run_id)`,
  // AUD-36: the primary key is what makes an approval single-use.
  `create table approval_uses (
    approval_id uuid primary key references approvals,
    action_id uuid not null unique
  )`,
];
