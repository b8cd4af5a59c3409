import type { ActionState } from "./action-state.ts";
import type { ActionId, DecisionId, EntryId, RunId, TraceId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

/** Who made an entry true. `person` is a random reference; the table from it to an account is sealed (AUD-79). */
export type Actor =
  | { readonly kind: "run"; readonly runId: RunId }
  | { readonly kind: "system" }
  | { readonly kind: "person"; readonly reference: string };

/**
 * What an entry tells. `action`: a state change of an action; `decision`: the policy's answer; `turn`: one model answer;
 * `run`: a change of a run's status or phase; `service`: start, stop, changed policies or settings, leftovers removed.
 */
export type EntryType = "action" | "decision" | "turn" | "run" | "service";

/**
 * What is to be recorded, before the ledger gives it a place. `evidence` holds ids, codes, sizes and commitments only.
 * Keys of it that others read: `tool` (proposed), `argumentsDigest`, `commitments` (by sealed field), `effect` and
 * `policyIds` (decision), `approvalId`, `stage` and `code` (invalid), `errorCode` (failed_definite), `code`
 * (succeeded with an error, else null), `cause` (cancelled, unknown), `applied` (resolved_by_person), `kind` (turn, run, service).
 * The trace also reads: `rawDigest`, `toolCallId` (proposed), `risk`, `channel` (approval answers), `recipe` and `round`
 * (reconciling); of a turn `requestModel`, `serverAddress`, `serverPort`, `usage`; of a run `status`, `phase`, `conclusion`,
 * `stopReason`, `baseSha`, `headBranch`, `headSha`, `pullRequest`, `issueNumber`, `version`.
 */
export type NewEntry = {
  readonly type: EntryType;
  readonly runId: RunId | null;
  readonly attempt: number;
  readonly traceId: TraceId | null;
  readonly actionId: ActionId | null;
  /** Set on entries of type `action`. */
  readonly state: ActionState | null;
  /** Number of the start of the action, from 1; null before the first. */
  readonly try: number | null;
  readonly decisionId: DecisionId | null;
  readonly deliveryId: string | null;
  readonly parentId: EntryId | null;
  readonly actor: Actor;
  readonly evidence: JsonObject;
};

/** What an entry of the system is about where nothing else is said: no run, no action, no delivery. */
export const plainEntry = {
  runId: null,
  attempt: 0,
  traceId: null,
  actionId: null,
  state: null,
  try: null,
  decisionId: null,
  deliveryId: null,
  parentId: null,
  actor: { kind: "system" },
} as const satisfies Omit<NewEntry, "type" | "evidence">;

/** An entry as stored: the canonical JSON bytes of this object are the body that is hashed (AUD-41). */
export type LedgerEntry = NewEntry & {
  readonly version: 1;
  readonly id: EntryId;
  readonly origin: string;
  /** Dense from 0. */
  readonly index: number;
  /** Dense from 0 within a run; null where there is no run. */
  readonly runSeq: number | null;
  /** Of the lease under which it was written (AUD-7); null without a lease. */
  readonly fencingToken: number | null;
  /** ISO 8601, milliseconds, UTC. */
  readonly time: string;
};

/** The head of the log at a size: C2SP tlog-checkpoint's three facts. `rootHash` is in base64, as there. */
export type Checkpoint = { readonly origin: string; readonly size: number; readonly rootHash: string };

/**
 * A text that is stored encrypted: arguments, results, reasons (AUD-79). Its commitment stands in `evidence.commitments`,
 * under its field, of the entry that it is recorded with; the nonce of the commitments is itself the field `nonce`. For
 * texts of no action the ledger makes both.
 */
export type SealedField = {
  readonly actionId: ActionId | null;
  /** For instance `nonce`, `arguments`, `raw`, `result`, `request`, `change_set`, `response`. */
  readonly field: string;
  readonly plaintext: Uint8Array;
  /** A person's random reference, whose erasure takes this text along; absent: the run as a whole. */
  readonly subject?: string;
};
