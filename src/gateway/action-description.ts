import type { z } from "zod";
import type {
  ActionGroup,
  ChangeSet,
  Effect,
  JsonObject,
  PathFact,
  Refusal,
  ResultStatus,
  Risk,
} from "../domain/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { Fingerprints } from "./fingerprints.ts";
import type { SavedPages } from "./saved-pages.ts";

/** What an action may touch while it is validated and executed: the hands, and the run's memory of what was read. */
export type ActionContext = {
  readonly workspace: Workspace;
  /** SHA-256 of each file as the run last read or wrote it (ACI-39). */
  readonly fingerprints: Fingerprints;
  /** Output too long to show, readable as `out:<n>` (ACI-11). */
  readonly pages: SavedPages;
  readonly paths: readonly PathFact[];
  readonly settings: ActionSettings;
  /** The place of the call in the conversation, for messages such as "in turn 7". */
  readonly turn: number;
  readonly actionId: string;
  /** Left of the run's wall clock; no timeout may be longer. */
  readonly leftMs: number;
};

/** What the repository's and the operator's settings say to the actions. */
export type ActionSettings = {
  readonly verifyCommand: string | null;
  readonly verifyTimeoutMs: number;
  /** With `{filter}` where a filter goes; null where the settings name none. */
  readonly verifyFilter: string | null;
  readonly setupCommand: string | null;
  readonly setupTimeoutMs: number;
};

/** A check made before the effect, by name, for the intent entry. */
export type Precondition = { readonly name: string; readonly holds: true; readonly evidence: JsonObject };

/** What validate hands to execute: computed from reads alone, so that the outcome is known before the write (ACI-45). */
export type Prepared<Plan> =
  | {
      readonly kind: "ready";
      readonly plan: Plan;
      readonly preconditions: readonly Precondition[];
      /** For edits: SHA-256 before and after, durable in the intent. */
      readonly intent: JsonObject;
    }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Nothing to do, and that is a success: the edit already stands (ACI-47). */
  | { readonly kind: "already_done"; readonly presented: Presented };

/** What happened, as typed facts: sealed whole, and the source of `present`. */
export type Executed<Facts> = {
  readonly facts: Facts;
  /** Null where the action changes no file by nature. */
  readonly changeSet: ChangeSet | null;
  /** Safe for the ledger: codes, sizes, counts. */
  readonly evidence: JsonObject;
};

/** What the model reads and what machines read. */
export type Presented = {
  readonly status: ResultStatus;
  readonly text: string;
  readonly record: JsonObject;
  /** Set when status is `refused` or `failed` with a code of ACI-14. */
  readonly refusal: Refusal | null;
};

/**
 * One action in the three acts that its reader sees: prepare (`Arguments`, `effects`, `prepare`), execute, settle (`present`).
 * One file an action under `gateway/actions/`.
 */
export type ActionDescription<Arguments, Plan, Facts> = {
  readonly name: string;
  /** For the model: what it is for, when another tool is better, its caps (ACI-17). Null for the host's own actions. */
  readonly description: string | null;
  /** Why the catalogue has it (SEC-2). */
  readonly reason: string;
  readonly group: ActionGroup;
  readonly risk: Risk;
  /** Whether its work is done in the sandbox, so that it never runs beside a host file call (ACI-63). */
  readonly place: "host" | "sandbox";
  /** Arguments whose change voids an approval (AUD-35). */
  readonly semanticFields: readonly string[];
  readonly Arguments: z.ZodType<Arguments>;
  readonly Record: z.ZodType<JsonObject>;
  readonly effects: (args: Arguments) => readonly Effect[];
  /** Reads only. Takes facts again and refuses where they no longer hold. */
  readonly prepare: (context: ActionContext, args: Arguments, signal: AbortSignal) => Promise<Prepared<Plan>>;
  /** The effect, and nothing else. */
  readonly execute: (context: ActionContext, plan: Plan, signal: AbortSignal) => Promise<Executed<Facts>>;
  /** Words the answer; remembers what was read or written. */
  readonly present: (context: ActionContext, args: Arguments, executed: Executed<Facts>) => Presented;
};
