import type { ActionState } from "./action-state.ts";
import type { ChangeSet } from "./change-set.ts";
import type { ActionId, ApprovalId, DecisionId, RunId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { Refusal } from "./refusal.ts";

/** Who acts: the run on the model's proposal, or the host itself. */
export type Principal = { readonly kind: "run"; readonly runId: RunId } | { readonly kind: "system" };

/** What falls where stands in AUD-28. Raised, never lowered, by an action's effects. */
export type Risk = "SAFE" | "RESTRICTED" | "DANGEROUS";

/** Cedar's action groups. */
export type ActionGroup = "read" | "write" | "execute" | "publish";

/** All that the model's output can create (AUD-1): a wish with its raw arguments, not yet parsed. */
export type ProposedAction = {
  readonly actionId: ActionId;
  readonly runId: RunId;
  readonly principal: Principal;
  readonly tool: string;
  /** The arguments as received, before any parsing (AUD-12). */
  readonly rawArguments: string;
  /** Null for the host's own actions. */
  readonly call: ToolCallPlace | null;
  readonly compensates: ActionId | null;
};

/** Where in the conversation a tool call stands; the operation key is made from it and from nothing else (ACI-45). */
export type ToolCallPlace = {
  readonly toolCallId: string;
  /** From 1. */
  readonly turn: number;
  /** From 0 within the turn. */
  readonly ordinal: number;
  readonly modelResponseId: string | null;
};

/** What an action would touch, known from its typed arguments alone, before anything is looked at. */
export type Effect =
  | {
      readonly kind: "read_path" | "write_path" | "create_path" | "delete_path";
      readonly path: string;
      /** Set where the path itself is to become a symbolic link. */
      readonly symlink?: boolean;
    }
  | { readonly kind: "search_tree" | "execute" | "finish" | "publish" };

/** A path as the policy sees it (AUD-22), resolved in the checkout before the decision. */
export type PathFact = {
  readonly requested: string;
  /** Repository-relative, links followed, `.` and `..` resolved. */
  readonly resolved: string;
  readonly class: "file" | "folder" | "absent" | "other";
  readonly symlink: boolean;
  readonly kind: "read_path" | "write_path" | "create_path" | "delete_path";
};

export type DecisionEffect = "allow" | "deny" | "require_approval";

/** The answer of the policy to one action (AUD-25): floor, operator's and repository's policies together. */
export type Decision = {
  readonly decisionId: DecisionId;
  readonly effect: DecisionEffect;
  /** Deciding policies; `floor:<name>`, `default_deny` and `policy_error` are possible ids. */
  readonly policyIds: readonly string[];
  /** Plain text of the deciding policies' `@advice`, by policy id. */
  readonly advice: Readonly<Record<string, string>>;
  readonly errors: readonly string[];
  /** The requests evaluated, as plain data: sealed, never shown. */
  readonly requests: readonly JsonObject[];
  readonly policySetDigest: string;
  readonly schemaDigest: string;
  readonly entitiesDigest: string;
  readonly repositoryPolicyDigest: string;
  readonly engineVersion: string;
  readonly floorVersion: string;
  readonly durationUs: number;
};

export type ResultStatus = "ok" | "empty" | "refused" | "failed" | "unknown";

/** What became of one action. A refusal is an outcome, never a throw. */
export type ActionOutcome = {
  readonly actionId: ActionId;
  readonly tool: string;
  readonly state: ActionState;
  readonly status: ResultStatus;
  /** What the model reads: one header line and a body (ACI-5). */
  readonly text: string;
  /** Typed facts, checked against the output schema of the tool. */
  readonly record: JsonObject;
  readonly refusal: Refusal | null;
  readonly decision: Decision | null;
  /** Set while the state is `approval_pending`. */
  readonly approvalId: ApprovalId | null;
  /** What this action changed in the checkout; null where it changes none by nature. */
  readonly changeSet: ChangeSet | null;
  /** Keyed digest for people and traces (AUD-16). */
  readonly argumentsDigest: string;
  readonly durationMs: number;
};
