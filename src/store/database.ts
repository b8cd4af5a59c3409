import type { ColumnType, Generated, GeneratedAlways, Transaction as KyselyTransaction } from "kysely";
import type {
  ActionId,
  ActionState,
  ApprovalId,
  Budget,
  Conclusion,
  DecisionEffect,
  DecisionId,
  DeliveryAnswer,
  DeliveryCode,
  DeliveryId,
  DeliveryResult,
  EntryId,
  EntryType,
  JsonObject,
  Permission,
  RunId,
  RunStatus,
  StopCause,
  StopReason,
  TraceId,
  TriggerVerb,
} from "../domain/index.ts";

/** Read as an ISO 8601 text (milliseconds, UTC), written as one. */
type Time = ColumnType<string, string, string>;
/** Filled by a trigger from the body of the entry; no statement of ours may name it. */
type Derived<T> = ColumnType<T, never, never>;
/** Read as a value, written as JSON text: `pg` would send an array as a PostgreSQL array. */
type Json<T> = ColumnType<T, string, string>;
/** Written once, never changed. */
type Fixed<T> = ColumnType<T, T, never>;
/** Written once or left out, which is null. */
type FixedOrNull<T> = ColumnType<T | null, T | null | undefined, never>;
/** Null until something sets it. */
type SetLater<T> = ColumnType<T | null, T | null | undefined, T | null>;

/** One row: the kill switch (AUD-90), and what a service last began with (AUD-11). */
type ServiceStateTable = {
  singleton: GeneratedAlways<boolean>;
  paused: boolean;
  changed_at: Time;
  /** Of the settings and policies that the last start found; null until the first one (AUD-11). */
  operator_digest: SetLater<string>;
  policy_set_digest: SetLater<string>;
};

/** Search copy of a run, and the lease of the worker that has it. The ledger is what counts. */
type RunsTable = {
  run_id: Fixed<RunId>;
  trace_id: Fixed<TraceId>;
  repository_id: Fixed<string>;
  repository_name: string;
  requester_id: Fixed<string>;
  requester_login: string;
  requester_permission: Permission;
  /** Number of the issue or pull request. Null where the issue is a local file. */
  issue_number: Fixed<number | null>;
  /** Empty in a queued run: the base is fetched by its worker. */
  base_sha: string;
  status: RunStatus;
  conclusion: Conclusion | null;
  stop_reason: StopReason | null;
  /** How often the run was taken over after a lost lease. */
  attempt: Generated<number>;
  /** Rises with each lease; a lower one may not append (AUD-7). */
  fencing_token: Generated<number>;
  lease_owner: string | null;
  lease_expires_at: ColumnType<string | null, string | null, string | null>;
  started_at: Time;
  completed_at: ColumnType<string | null, string | null, string | null>;
  limits: Json<Budget>;
  /** Input and output tokens together, known at its end; null while it lives, and where its worker was lost. */
  used_tokens: SetLater<number>;
  /** The columns from here on are null in a run that was started on this machine. */
  installation_id: FixedOrNull<number>;
  item_kind: FixedOrNull<"issue" | "pull_request">;
  trigger_verb: FixedOrNull<TriggerVerb>;
  delivery_id: FixedOrNull<DeliveryId>;
  /** GH-21: the time that the signed payload gives. */
  triggered_at: FixedOrNull<string>;
  /** Set once by `intake`; the worker obeys it (GH-50). */
  stop_requested_at: SetLater<string>;
  /** GitHub's numeric id as text; null where no person did it. */
  stop_requested_by_id: SetLater<string>;
  stop_requested_by_login: SetLater<string>;
  stop_cause: SetLater<StopCause>;
  /** What stands on GitHub of a run; null until it does. By these a pull request is known as ours. */
  status_comment_id: SetLater<number>;
  branch: SetLater<string>;
  head_sha: SetLater<string>;
  pull_request_number: SetLater<number>;
  pull_request_url: SetLater<string>;
};

/** Each webhook delivery once (GH-31), for 30 days: ids and codes only. The ledger is what counts. */
type DeliveriesTable = {
  delivery_id: Fixed<DeliveryId>;
  /** AUD-67; null where the delivery asked for nothing. */
  business_key: Fixed<string | null>;
  received_at: Fixed<string>;
  /** Event and action, such as `issues.labeled`. */
  event: Fixed<string>;
  result: Fixed<DeliveryResult>;
  code: Fixed<DeliveryCode>;
  /** How the sender is to be told by the job `answer`; null: not at all. */
  answer: Fixed<DeliveryAnswer | null>;
  /** The run that was made, or the live one that is in the way. */
  run_id: Fixed<RunId | null>;
  installation_id: Fixed<number | null>;
  repository_id: Fixed<string | null>;
  item_number: Fixed<number | null>;
  /** Of the comment that held the command. */
  comment_id: Fixed<number | null>;
  sender_id: Fixed<string | null>;
  /** Ids and counts for the answer, such as `{"commandCount":2}`. */
  detail: Json<JsonObject>;
  /** When that happened which stops runs; null where the delivery asks for no stop. */
  stop_at: FixedOrNull<string>;
  /** Ids of the repositories that the stop is for, as texts; null where it is for one item or an installation. */
  stop_repository_ids: ColumnType<readonly string[] | null, string | null | undefined, never>;
};

/** Missed deliveries that GitHub would not send again, and when they are asked for next (GH-32). */
type RefusedRedeliveriesTable = {
  guid: Fixed<string>;
  refusals: number;
  code: string;
  not_before: Time;
  delivered_at: Fixed<string>;
};

/** One row: the name of the log and the number of its entries, kept by the trigger on `ledger_entries`. */
type LedgerHeadTable = { singleton: GeneratedAlways<boolean>; origin: Fixed<string>; size: Derived<number> };

/**
 * The log. A statement gives the four first columns; the copies for search come from the body, in the database, so that
 * they can't differ from the hashed bytes when written.
 */
type LedgerEntriesTable = {
  index: Fixed<number>;
  /** Canonical JSON of a `LedgerEntry`, at most 16 KiB (AUD-41). */
  body: ColumnType<Buffer, Uint8Array, never>;
  /** SHA-256(0x00 ‖ body); the database checks it. */
  leaf_hash: ColumnType<Buffer, Uint8Array, never>;
  /** Of the lease under which the entry was written; null without a lease. */
  fencing_token: Fixed<number | null>;
  id: Derived<EntryId>;
  type: Derived<EntryType>;
  run_id: Derived<RunId | null>;
  run_seq: Derived<number | null>;
  action_id: Derived<ActionId | null>;
  state: Derived<ActionState | null>;
  attempt: Derived<number>;
  try: Derived<number | null>;
  decision_id: Derived<DecisionId | null>;
  delivery_id: Derived<string | null>;
  parent_id: Derived<EntryId | null>;
  trace_id: Derived<TraceId | null>;
  time: Derived<string>;
};

/** Hashes of full subtrees: at level n, position p covers the leaves from p * 2^n on. Level 0 is the leaf hash itself. */
type LedgerNodesTable = {
  level: Fixed<number>;
  position: Fixed<number>;
  hash: ColumnType<Buffer, Uint8Array, never>;
};

/** Per run: number of its entries (the next `run_seq`) and the newest fencing token seen. Kept by the trigger. */
type RunHeadsTable = { run_id: Derived<RunId>; size: Derived<number>; fencing_token: Derived<number | null> };

type LegalTransitionsTable = { from_state: Derived<ActionState | null>; to_state: Derived<ActionState> };

/** Current state of each action; rebuilt from the ledger by `rebuildProjection` (AUD-2). */
type ActionsTable = {
  action_id: Derived<ActionId>;
  run_id: Derived<RunId | null>;
  /** `evidence.tool` of the entry `proposed`. */
  tool: Derived<string | null>;
  state: Derived<ActionState>;
  /** 0 before the first start. */
  try: Derived<number>;
  /** The newest decision. */
  decision_id: Derived<DecisionId | null>;
  first_index: Derived<number>;
  last_index: Derived<number>;
  proposed_at: Derived<string>;
  updated_at: Derived<string>;
};

/** From entries of type `decision`: `evidence.effect` and `evidence.policyIds`. */
type DecisionsTable = {
  decision_id: Derived<DecisionId>;
  action_id: Derived<ActionId>;
  effect: Derived<DecisionEffect>;
  policy_ids: Derived<readonly string[]>;
  entry_index: Derived<number>;
};
type AuthorizationsTable = { action_id: Derived<ActionId>; decision_id: Derived<DecisionId> };
type IntentsTable = { action_id: Derived<ActionId>; entry_index: Derived<number> };
type StartsTable = { action_id: Derived<ActionId>; try: Derived<number>; entry_index: Derived<number> };

/** Encrypted texts (AUD-79). The only rows of the log's kind that may be deleted: by an erasure. */
type SealedTable = {
  id: GeneratedAlways<number>;
  run_id: Fixed<RunId>;
  action_id: Fixed<ActionId | null>;
  field: Fixed<string>;
  entry_index: Fixed<number | null>;
  key_id: string;
  nonce: ColumnType<Buffer, Uint8Array, Uint8Array>;
  ciphertext: ColumnType<Buffer, Uint8Array, Uint8Array>;
  commitment: Fixed<string | null>;
  created_at: Time;
};

/** Each policy set that decided something, by digest (AUD-25). `content` is text by file name. */
type PolicySetsTable = { digest: Fixed<string>; content: Json<JsonObject>; created_at: Time };

type ApprovalsTable = {
  approval_id: Fixed<ApprovalId>;
  action_id: Fixed<ActionId>;
  run_id: Fixed<RunId>;
  /** What the approval is bound to (AUD-35). */
  bindings: Json<JsonObject>;
  expires_at: Time;
  /** The action that puts the question as a comment; null where it is asked on the terminal. */
  question_action_id: ActionId | null;
};
/** The first answer to a question; there is no second (AUD-39). */
type ApprovalAnswersTable = {
  approval_id: Fixed<ApprovalId>;
  answer: Fixed<"granted" | "refused" | "expired">;
  /** Of the comment that answered; null on the terminal and for the run clock. */
  delivery_id: Fixed<string | null>;
  answered_at: Fixed<string>;
};
/** An approval is used once: a second row is refused (AUD-36). */
type ApprovalUsesTable = { approval_id: Fixed<ApprovalId>; action_id: Fixed<ActionId> };

/** Spans on their way to a receiver; derived from the ledger in the append that completes them (AUD-69). */
type SpanOutboxTable = {
  id: GeneratedAlways<number>;
  run_id: Fixed<RunId>;
  /** Of the entry that completed the span. */
  entry_index: Fixed<number>;
  trace_id: Fixed<TraceId>;
  span_id: Fixed<string>;
  /** As ledger's `TraceSpan`. */
  span: ColumnType<JsonObject, string, never>;
  state: ColumnType<"pending" | "sent" | "rejected", never, "pending" | "sent" | "rejected">;
  /** How often a receiver refused this span alone. */
  refusals: Generated<number>;
  not_before: ColumnType<string | null, never, string | null>;
  sent_at: ColumnType<string | null, never, string | null>;
  created_at: Time;
};
/** One row: the first entry that may owe a span. */
type TraceStartTable = { singleton: GeneratedAlways<boolean>; index: Derived<number> };

/** All tables of Countersign but the queue's, which are pg-boss's own. `bigint` is a number here; one over 2^53 - 1 throws. */
export type Database = {
  service_state: ServiceStateTable;
  runs: RunsTable;
  deliveries: DeliveriesTable;
  refused_redeliveries: RefusedRedeliveriesTable;
  ledger_head: LedgerHeadTable;
  ledger_entries: LedgerEntriesTable;
  ledger_nodes: LedgerNodesTable;
  run_heads: RunHeadsTable;
  legal_transitions: LegalTransitionsTable;
  actions: ActionsTable;
  decisions: DecisionsTable;
  authorizations: AuthorizationsTable;
  intents: IntentsTable;
  starts: StartsTable;
  sealed: SealedTable;
  policy_sets: PolicySetsTable;
  approvals: ApprovalsTable;
  approval_uses: ApprovalUsesTable;
  approval_answers: ApprovalAnswersTable;
  span_outbox: SpanOutboxTable;
  trace_start: TraceStartTable;
};

/** One transaction; passed on to rooms that write beside others. */
export type Transaction = KyselyTransaction<Database>;
