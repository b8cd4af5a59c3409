import type { Checkpoint } from "../domain/index.ts";
import { type History, type HistoryFault, newHistory } from "./history.ts";
import type { Sealed, SealPlace } from "./keys.ts";
import { emptyTree, type Frontier } from "./merkle.ts";
import type { StoredLog } from "./stored-log.ts";

/** What a verifier may be sure of beforehand: passed in, never read from the log itself. */
export type Trust = {
  /** `countersign/<instance id>`; null where the verifier knows no instance and takes the log's own name. */
  readonly origin: string | null;
  /** Heads seen earlier and kept outside the database. Without one a cut end cannot be excluded. */
  readonly checkpoints: readonly Checkpoint[];
  /** Opens sealed texts to compare them with their commitments; null without keys. Answers null where a key was erased. */
  readonly unseal: ((place: SealPlace, sealed: Sealed) => Promise<Uint8Array | null>) | null;
};

export type FindingCode =
  | HistoryFault
  | "head_missing"
  | "head_size_differs"
  | "other_instance"
  | "index_gap"
  | "leaf_hash_differs"
  | "body_not_canonical"
  | "body_malformed"
  | "column_differs"
  | "node_differs"
  | "node_missing"
  | "node_extra"
  | "cut_end"
  | "history_rewritten"
  | "text_differs"
  | "text_missing"
  | "text_extra"
  | "text_unreadable"
  | "commitment_differs"
  | "erasure_without_entry"
  | "derived_differs"
  | "derived_missing"
  | "derived_extra";

/** `index`: of the entry that it was found at; null where it belongs to none. The message holds no sealed content. */
export type Finding = { readonly code: FindingCode; readonly index: number | null; readonly message: string };

/** More would only hide the first ones. */
const findingLimit = 1000;

/** The state of one verification. */
export type Walk = {
  readonly trust: Trust;
  readonly origin: string | null;
  readonly findings: Finding[];
  findingCount: number;
  tree: Frontier;
  reach: number | null;
  readonly history: History;
  /** By action, or by entry for texts of no action; null where it is stored but can't be opened. */
  readonly nonces: Map<string, Uint8Array | null>;
  /** First entry of each run with a text whose key is gone. */
  readonly erased: Map<string, number>;
  readonly erasuresRecorded: Set<string>;
};

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

export const newWalk = (log: StoredLog, trust: Trust): Walk => ({
  trust,
  origin: trust.origin ?? log.head?.origin ?? null,
  findings: [],
  findingCount: 0,
  tree: emptyTree,
  reach: null,
  history: newHistory(),
  nonces: new Map(),
  erased: new Map(),
  erasuresRecorded: new Set(),
});

export function report(walk: Walk, code: FindingCode, index: number | null, message: string): void {
  walk.findingCount += 1;
  if (walk.findings.length < findingLimit) walk.findings.push({ code, index, message });
}

export const faultMessages: Readonly<Record<HistoryFault, string>> = {
  run_seq_gap: "the entry is not the next one of its run",
  stale_fencing_token: "the entry was written under an older lease than one before it",
  time_backwards: "the entry is older than the one before it, and no `clock_step` says why",
  decision_without_proposal: "the decision is about an action that was not proposed",
  effect_without_decision: "the action goes on without a decision that allows it",
  effect_without_intent: "the action was started without a recorded intent",
  outcome_without_start: "the action has an outcome but was not started",
  impossible_transition: "the state cannot follow the one before it",
  try_gap: "the try is not the next one of the action",
  action_of_another_run: "the action belongs to another run",
  approval_used_twice: "the approval was used before",
  approval_not_live: "the approval was not granted, or is not named",
};
