import type { z } from "zod";
import type {
  ActionGroup,
  ActionId,
  ChangeSet,
  CountersignError,
  Effect,
  JsonObject,
  PathFact,
  Refusal,
  ResultStatus,
  Risk,
  RunId,
} from "../domain/index.ts";
import type { GithubWriter } from "../github/index.ts";
import type { CapabilityWay } from "../policy/index.ts";
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

/** What an action on GitHub may touch. It sees no checkout: what is published is named by its arguments. */
export type GithubContext = {
  readonly writer: GithubWriter;
  readonly runId: RunId;
  readonly actionId: ActionId;
  /** The bytes to publish; null where the run has none at hand, as after a crash. */
  readonly changeSet: ChangeSet | null;
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

/** An effect elsewhere that did not come about, or whose answer was lost (AUD-63). */
export type Unfinished =
  | { readonly kind: "not_applied"; readonly error: CountersignError }
  | {
      readonly kind: "unknown";
      readonly cause: "timeout" | "reset" | "server_error";
      readonly error: CountersignError;
    };

/** What a look at the world told about an effect. `evidence` is safe for the ledger: what was read, request ids. */
export type Looked<Facts> =
  | { readonly kind: "applied"; readonly executed: Executed<Facts> }
  | { readonly kind: "not_applied"; readonly evidence: JsonObject }
  | { readonly kind: "inconclusive"; readonly evidence: JsonObject };

/** By what an effect is found again after its answer was lost (AUD-61). Needs the arguments alone, so that it works after a crash. */
export type Reconciliation<Arguments, Facts, Context> = {
  /** How the world is looked at, in words. */
  readonly recipe: string;
  /** What the write relies on and the other side enforces. */
  readonly precondition: string;
  readonly naturalKey: (context: Context, args: Arguments) => string;
  readonly expectedSha: (args: Arguments) => string | null;
  readonly deadlineMs: number;
  readonly look: (context: Context, args: Arguments, sinceIso: string, signal: AbortSignal) => Promise<Looked<Facts>>;
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
export type ActionDescription<Arguments, Plan, Facts, Context = ActionContext> = {
  readonly name: string;
  /** For the model: what it is for, when another tool is better, its caps (ACI-17). Null for the host's own actions. */
  readonly description: string | null;
  /** Why the catalogue has it (SEC-2). */
  readonly reason: string;
  readonly group: ActionGroup;
  readonly risk: Risk;
  /** What it needs to be of use and what it gives, way by way (AUD-32); the first way is its ordinary use. */
  readonly capabilities: readonly CapabilityWay[];
  /**
   * Where its work is done: in the sandbox, so that it never runs beside a host file call (ACI-63), or on GitHub, so that it
   * is given a `GithubContext` and its paths are taken as named.
   */
  readonly place: "host" | "sandbox" | "github";
  /** Arguments whose change voids an approval (AUD-35). */
  readonly semanticFields: readonly string[];
  readonly Arguments: z.ZodType<Arguments>;
  readonly Record: z.ZodType<JsonObject>;
  readonly effects: (args: Arguments) => readonly Effect[];
  /** What the policy sees of the arguments in the request for this path, or for the whole; absent: all of them. */
  readonly policyInput?: (args: Arguments, path: PathFact | null) => JsonObject;
  /** Reads only. Takes facts again and refuses where they no longer hold. */
  readonly prepare: (context: Context, args: Arguments, signal: AbortSignal) => Promise<Prepared<Plan>>;
  /** The effect, and nothing else. */
  readonly execute: (context: Context, plan: Plan, signal: AbortSignal) => Promise<Executed<Facts> | Unfinished>;
  /** Words the answer; remembers what was read or written. */
  readonly present: (context: Context, args: Arguments, executed: Executed<Facts>) => Presented;
  /** Set where the effect outlives the checkout: a lost answer is settled by looking. */
  readonly reconciliation?: Reconciliation<Arguments, Facts, Context>;
};
