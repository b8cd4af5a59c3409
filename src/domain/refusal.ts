/** Why nothing was executed, or what went wrong, in words that let the model do better (ACI-13, ACI-14). */
export const refusalCodes = [
  "unknown_tool",
  "invalid_arguments",
  "outside_workspace",
  "not_found",
  "line_out_of_range",
  "not_read",
  "changed_since_read",
  "deleted_since_read",
  "anchor_not_found",
  "anchor_ambiguous",
  "already_present",
  "anchor_empty",
  "no_change",
  "edits_overlap",
  "bad_pattern",
  "timed_out",
  "outcome_lost",
  "truncated_call",
  "not_executed",
  "audit_unavailable",
  "approval_unavailable",
  "no_test_command",
  "no_sandbox",
  "already_exists",
  "syntax_error",
  "not_text",
  "too_large",
  "policy_denied",
  "approval_denied",
  "approval_expired",
  "budget_exceeded",
  "github_failed",
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

/** A refusal in its three parts. `example` is a call made from the model's own arguments, or null where `remedy` says it in words. */
export type Refusal = {
  readonly code: RefusalCode;
  /** The value received and what is the matter with it. */
  readonly received: string;
  /** What is allowed instead. */
  readonly allowed: string;
  /** One sentence on what to do. */
  readonly remedy: string;
  readonly example: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> } | null;
  /** Further text for the model such as a diff or the fresh region; may be empty. */
  readonly attachment: string;
};
