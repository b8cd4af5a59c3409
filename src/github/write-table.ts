import { setCheckRun } from "./recipes/check-run.ts";
import { createComment, updateComment } from "./recipes/comments.ts";
import { openPullRequest, updatePullRequest } from "./recipes/pull-requests.ts";
import { pushCommit } from "./recipes/push-commit.ts";
import { addLabel, addReaction, deleteBranch, removeLabel } from "./recipes/sets.ts";
import type { WriteRow, WriteTable } from "./write-row.ts";
import type { GithubWrite } from "./writes.ts";

/** The table of AUD-61: what each write is found again by, what must hold before it, and how its effect is looked for. */
export const githubWrites: WriteTable = {
  push_commit: pushCommit,
  open_pull_request: openPullRequest,
  update_pull_request: updatePullRequest,
  create_comment: createComment,
  update_comment: updateComment,
  set_check_run: setCheckRun,
  add_reaction: addReaction,
  add_label: addLabel,
  remove_label: removeLabel,
  delete_branch: deleteBranch,
};

/** The row of a write whose tool isn't known while compiling. The table gives each tool its own row. */
export const rowOf = (write: GithubWrite): WriteRow<GithubWrite> =>
  githubWrites[write.tool] as unknown as WriteRow<GithubWrite>;
