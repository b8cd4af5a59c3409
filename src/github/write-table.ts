import type { WriteRow, WriteTable } from "./write-row.ts";
import type { GithubTool, GithubWrite } from "./writes.ts";

const todo = () => {
  throw new Error("not built yet");
};

export const githubWrites: WriteTable = {
  push_commit: {
    naturalKey: ({ branch, expectedSha }) => `ref heads/${branch} from ${expectedSha ?? "absent"}`,
    precondition: "the ref stands at the expected commit, or is absent where none is expected",
    recipe:
      "read the ref: expected commit, not applied; a commit with our tree, parent and run trailer, applied; else inconclusive",
    permissions: { contents: "write" },
    send: todo,
    look: todo,
  },
  open_pull_request: {
    naturalKey: ({ branch, base }) => `pull request of heads/${branch} into ${base}`,
    precondition: "the head branch stands on GitHub and no pull request of it is open",
    recipe:
      "list the pull requests of the head in all states: one of our App with this action's marker, applied; none, not applied; else inconclusive",
    permissions: { pull_requests: "write", contents: "read" },
    send: todo,
    look: todo,
  },
  update_pull_request: {
    naturalKey: ({ pullRequest, revision }) => `pull request ${pullRequest} revision ${revision}`,
    precondition: "the pull request is our App's and its body ends with a marker of ours",
    recipe: "read it: our revision and texts, applied; an earlier revision, not applied; else inconclusive",
    permissions: { pull_requests: "write" },
    send: todo,
    look: todo,
  },
  create_comment: {
    naturalKey: ({ issue, actionId }) => `comment on ${issue} marked ${actionId}`,
    precondition: "none",
    recipe: "list our App's comments since the intent: one with this action's marker, applied; none, not applied",
    permissions: { issues: "write", pull_requests: "write" },
    send: todo,
    look: todo,
  },
  update_comment: {
    naturalKey: ({ comment, revision }) => `comment ${comment} revision ${revision}`,
    precondition: "the comment is our App's and ends with a marker of ours",
    recipe: "read it: our revision and text, applied; an earlier revision, not applied; else inconclusive",
    permissions: { issues: "write", pull_requests: "write" },
    send: todo,
    look: todo,
  },
  set_check_run: {
    naturalKey: ({ headSha, runId, revision }) =>
      `check run Countersign on ${headSha} of ${runId} revision ${revision}`,
    precondition: "none",
    recipe:
      "list our App's check runs of the commit: this run's with our revision, applied; none or an earlier one, not applied; else inconclusive",
    permissions: { checks: "write" },
    send: todo,
    look: todo,
  },
  add_reaction: {
    naturalKey: ({ target, content }) =>
      `reaction ${content} on ${target.kind} ${target.kind === "issue" ? target.issue : target.comment}`,
    precondition: "none",
    recipe: "list the reactions: this content by our bot user, applied; else not applied",
    permissions: { issues: "write", pull_requests: "write" },
    send: todo,
    look: todo,
  },
  add_label: {
    naturalKey: ({ issue, label }) => `label ${label} on ${issue}`,
    precondition: "none",
    recipe: "read the labels: on, applied; else not applied",
    permissions: { issues: "write", pull_requests: "write" },
    send: todo,
    look: todo,
  },
  remove_label: {
    naturalKey: ({ issue, label }) => `no label ${label} on ${issue}`,
    precondition: "none",
    recipe: "read the labels: off, applied; else not applied",
    permissions: { issues: "write", pull_requests: "write" },
    send: todo,
    look: todo,
  },
  delete_branch: {
    naturalKey: ({ branch, expectedSha }) => `no ref heads/${branch} at ${expectedSha}`,
    precondition: "the ref stands at the expected commit",
    recipe: "read the ref: absent, applied; the expected commit, not applied; else inconclusive",
    permissions: { contents: "write" },
    send: todo,
    look: todo,
  },
};

/** The row of a write, typed for it. */
export const rowOf = <Tool extends GithubTool>(write: GithubWrite & { readonly tool: Tool }): WriteRow<GithubWrite> =>
  githubWrites[write.tool] as unknown as WriteRow<GithubWrite>;
