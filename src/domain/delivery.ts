/** What became of a delivery. */
export type DeliveryResult =
  /** A run was made. */
  | "started"
  /** At least one live run was asked to stop. */
  | "stopped"
  /** A person asked for something that they may not have, or may not have now. */
  | "refused"
  /** A command that is answered and starts nothing. */
  | "answered"
  /** Nothing was asked of us. */
  | "ignored";

/** Why a delivery starts nothing and asks for nothing. */
export const ignoredCodes = [
  "event_not_handled",
  "action_not_handled",
  "shape_unknown",
  "no_installation",
  "other_label",
  "item_closed",
  "item_is_pull_request",
  "no_command",
  "own_app",
  "bot_actor",
  "app_actor",
  "later_event",
  "nothing_live",
  "already_stopping",
  "older_than_run",
  "duplicate_delivery",
  "duplicate_content",
] as const;

/** Why a run that a person asked for is not made. */
export const refusedCodes = [
  "permission_missing",
  "permission_unknown",
  "trigger_time_unreadable",
  "trigger_too_old",
  "item_closed",
  "item_is_pull_request",
  "item_is_issue",
  "issue_without_text",
  "label_gone",
  "stopped_since",
  "state_unknown",
  "repository_archived",
  "repository_disabled",
  "fork_not_permitted",
  "paused",
  "run_live",
  "cap_issue_hour",
  "cap_issue_day",
  "cap_repository_hour",
  "cap_repository_day",
  "cap_sender_hour",
  "cap_sender_day",
  "cap_tokens_day",
  "repeated_failures",
  "approval_unknown",
  "approval_foreign",
  "approval_answered",
  "approval_expired",
  "approval_closed",
  "approval_forbidden",
  "approval_withdrawn",
  "approval_unread",
] as const;

/** What a command that starts nothing is answered with. */
export const answeredCodes = [
  "help",
  "command_unknown",
  "command_unreadable",
  "command_later",
  "explain_on_command_line",
  "nothing_to_stop",
  "already_stopping",
  "approval_granted",
  "approval_refused",
] as const;

/** The reason that is stored with a delivery and stands in its ledger entry. */
export type DeliveryCode =
  | (typeof ignoredCodes)[number]
  | (typeof refusedCodes)[number]
  | (typeof answeredCodes)[number]
  /** With `started` and `stopped`: there is nothing more to say. */
  | "done";

/** How the sender is told: a comment for who may write, the `confused` reaction for who may not (GH-12, GH-15). */
export type DeliveryAnswer = "comment" | "confused";

/** What ended or should end a live run. */
export type StopCause =
  | "command"
  /** The operator's, on the command line. */
  | "paused"
  | "cancel_command"
  | "label_removed"
  | "item_closed"
  | "item_transferred"
  | "item_deleted"
  | "installation_deleted"
  | "installation_suspended"
  | "repository_removed"
  | "repository_archived"
  | "repository_deleted"
  | "repository_transferred";
