import type { Budget } from "./budget.ts";
import type { RunId, TraceId } from "./ids.ts";

export type RunStatus = "queued" | "in_progress" | "waiting" | "completed";

/** GitHub's own words for the end of a check. */
export type Conclusion = "success" | "failure" | "cancelled" | "timed_out" | "action_required" | "neutral";

/** Why the proposing ended (ACI-67). */
export type StopReason =
  | "finished"
  | "nothing_to_do"
  | "limit_turns"
  | "limit_tokens"
  | "limit_cost"
  | "limit_time"
  | "stuck"
  | "format_errors"
  | "no_action"
  | "model_refused"
  | "model_unavailable"
  | "context_exhausted"
  | "cancelled"
  | "approval_expired"
  | "setup_failed"
  | "bug";

export type Permission = "admin" | "maintain" | "write" | "read" | "none";

/** Who asked. Keyed by id; the login is for display (SEC-4). */
export type Requester = { readonly id: string; readonly login: string; readonly permission: Permission };

/** Where the work is done. `id` is GitHub's numeric id as text, or `local:` and 16 hex digits (GH-141). */
export type RepositoryRef = { readonly id: string; readonly name: string };

export type Run = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly repository: RepositoryRef;
  readonly requester: Requester;
  readonly issueTitle: string;
  readonly baseSha: string;
  readonly status: RunStatus;
  readonly conclusion: Conclusion | null;
  readonly stopReason: StopReason | null;
  /** How often the run was taken over after a lost lease. From 0. */
  readonly attempt: number;
  readonly startedAt: string;
  readonly limits: Budget;
};

/** Stop reason to conclusion where the verdict of the host's verification has no say (ACI-67). */
export function conclusionOf(reason: Exclude<StopReason, "finished">): Conclusion {
  switch (reason) {
    case "nothing_to_do":
      return "neutral";
    case "limit_time":
      return "timed_out";
    case "cancelled":
      return "cancelled";
    case "approval_expired":
    case "setup_failed":
      return "action_required";
    default:
      return "failure";
  }
}
