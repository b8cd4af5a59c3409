import type { DeliveryId } from "./ids.ts";
import type { Requester } from "./run.ts";

/** What a reaction may be put on. Reviews take none. */
export type ReactionTarget =
  | { readonly kind: "issue"; readonly issue: number }
  | { readonly kind: "issue_comment"; readonly comment: number }
  | { readonly kind: "review_comment"; readonly comment: number };

/** What makes a run. `retry` is a run of its own with a new snapshot (GH-5). */
export type TriggerVerb = "fix" | "revise" | "retry";

/**
 * Why a run exists: what a person asked for on GitHub, as the signed payload of the delivery said it (GH-20). Ids are
 * GitHub's numbers; names and logins are for display (SEC-4).
 */
export type Trigger = {
  readonly deliveryId: DeliveryId;
  /** Event and action, such as `issues.labeled`. */
  readonly event: string;
  readonly verb: TriggerVerb;
  readonly installationId: number;
  readonly repository: { readonly id: number; readonly owner: string; readonly name: string };
  readonly item: { readonly kind: "issue" | "pull_request"; readonly id: number; readonly number: number };
  /** True where the label must stay on for the run to go on (GH-51). */
  readonly byLabel: boolean;
  readonly reactTo: ReactionTarget | null;
  /** The sender, with the permission that GitHub answered at the trigger (SEC-31). `id` is the numeric id as text. */
  readonly requester: Requester;
  /** ISO 8601, the trigger time T (GH-21). */
  readonly at: string;
  readonly title: string;
  readonly body: string;
  /** The item's author, who may be a stranger; id 0 where the account is gone. */
  readonly author: { readonly id: number; readonly canWrite: boolean };
  /** What stood on and after the line of the command; empty for a label. */
  readonly request: string;
  /** SHA-256, lower-case hex, of the snapshot that was used. */
  readonly textDigest: string;
};
