import type {
  ActionId,
  Conclusion,
  CountersignError,
  FileChange,
  JsonObject,
  ReactionTarget,
  RunId,
} from "../domain/index.ts";

/** A commit on a branch by the Git Data API. `expectedSha` null: the branch must not exist yet. `message` holds the trailers. */
export type PushCommit = {
  readonly tool: "push_commit";
  readonly branch: string;
  readonly parentSha: string;
  readonly baseTreeSha: string;
  readonly expectedSha: string | null;
  readonly message: string;
  readonly runId: RunId;
  readonly changes: readonly FileChange[];
};
/** The writer appends the marker to `body`. */
export type OpenPullRequest = {
  readonly tool: "open_pull_request";
  readonly actionId: ActionId;
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
};
/** What is left out stays as it is. `revision` counts the edits of this pull request, from 1. */
export type UpdatePullRequest = {
  readonly tool: "update_pull_request";
  readonly actionId: ActionId;
  readonly pullRequest: number;
  readonly title?: string;
  readonly body?: string;
  readonly draft?: boolean;
  readonly revision: number;
};
export type CreateComment = {
  readonly tool: "create_comment";
  readonly actionId: ActionId;
  readonly issue: number;
  readonly body: string;
};
/** `revision` counts the edits of this comment, from 1. */
export type UpdateComment = {
  readonly tool: "update_comment";
  readonly actionId: ActionId;
  readonly issue: number;
  readonly comment: number;
  readonly body: string;
  readonly revision: number;
};
/** The check run `Countersign` of a run on a commit: made where it is missing, else updated. `revision` counts from 1. */
export type SetCheckRun = {
  readonly tool: "set_check_run";
  readonly runId: RunId;
  readonly headSha: string;
  readonly status: "in_progress" | "completed";
  readonly conclusion: Conclusion | null;
  readonly title: string;
  readonly summary: string;
  readonly revision: number;
};
export type AddReaction = {
  readonly tool: "add_reaction";
  readonly target: ReactionTarget;
  readonly content: "eyes" | "confused" | "rocket";
};
export type AddLabel = { readonly tool: "add_label"; readonly issue: number; readonly label: string };
export type RemoveLabel = { readonly tool: "remove_label"; readonly issue: number; readonly label: string };
export type DeleteBranch = { readonly tool: "delete_branch"; readonly branch: string; readonly expectedSha: string };

/** All that may be written to GitHub. */
export type GithubWrite =
  | PushCommit
  | OpenPullRequest
  | UpdatePullRequest
  | CreateComment
  | UpdateComment
  | SetCheckRun
  | AddReaction
  | AddLabel
  | RemoveLabel
  | DeleteBranch;
export type GithubTool = GithubWrite["tool"];
export type WriteOf<Tool extends GithubTool> = Extract<GithubWrite, { readonly tool: Tool }>;

/** What became of one sending (AUD-63). A limit and an unreadable answer are `server_error`; the error's code tells them apart. */
export type WriteOutcome =
  | { readonly kind: "applied"; readonly result: JsonObject; readonly evidence: JsonObject }
  | { readonly kind: "not_applied"; readonly error: CountersignError }
  | {
      readonly kind: "unknown";
      readonly cause: "timeout" | "reset" | "server_error";
      readonly error: CountersignError;
    };

/** What looking at GitHub told about a write. */
export type Found =
  | { readonly kind: "applied"; readonly result: JsonObject; readonly evidence: JsonObject }
  | { readonly kind: "not_applied"; readonly evidence: JsonObject }
  | { readonly kind: "inconclusive"; readonly evidence: JsonObject };
