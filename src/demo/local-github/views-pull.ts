import type { JsonObject } from "../../domain/index.ts";
import type { FileDiff } from "./git-store.ts";
import { accountView, associationOf, nodeId, pageUrl, repositoryUrl, repositoryView } from "./views.ts";
import { commentsOf, labelsOf, labelView, reactionsView } from "./views-issue.ts";
import type { Item, Pull, Repository, Review, ReviewComment, World } from "./world.ts";

export type PullItem = Item & { readonly pull: Pull };
export const isPull = (item: Item): item is PullItem => item.pull !== null;

const endView = (world: World, repository: Repository, ref: string | null, sha: string): JsonObject => ({
  label: ref === null ? "unknown repository" : `${repository.owner.login}:${ref}`,
  ref: ref ?? "",
  sha,
  user: accountView(world, repository.owner),
  repo: ref === null ? null : repositoryView(world, repository),
});

/** What lists of pull requests and the payloads of reviews hold. */
export function simplePullView(world: World, repository: Repository, item: PullItem): JsonObject {
  const base = repositoryUrl(world, repository);
  const { pull } = item;
  const links = linksOf(world, repository, item);
  return {
    url: links["self"] ?? "",
    id: pull.id,
    node_id: nodeId("PR", pull.id),
    html_url: links["html"] ?? "",
    diff_url: `${links["html"]}.diff`,
    patch_url: `${links["html"]}.patch`,
    issue_url: links["issue"] ?? "",
    number: item.number,
    state: item.state,
    locked: item.isLocked,
    title: item.title,
    user: accountView(world, item.author),
    body: item.body,
    created_at: item.createdAt,
    updated_at: item.updatedAt,
    closed_at: item.closedAt,
    merged_at: pull.mergedAt,
    merge_commit_sha: pull.headSha,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: labelsOf(repository, item).map((label) => labelView(world, repository, label)),
    milestone: null,
    draft: pull.isDraft,
    commits_url: links["commits"] ?? "",
    review_comments_url: links["review_comments"] ?? "",
    review_comment_url: links["review_comment"] ?? "",
    comments_url: links["comments"] ?? "",
    statuses_url: `${base}/statuses/${pull.headSha}`,
    head: endView(world, repository, pull.head, pull.headSha),
    base: endView(world, repository, pull.base, pull.baseSha),
    _links: Object.fromEntries(Object.entries(links).map(([name, href]) => [name, { href }])),
    author_association: associationOf(repository, item.author),
    auto_merge: null,
    active_lock_reason: item.lockReason,
  };
}

function linksOf(world: World, repository: Repository, item: PullItem): Record<string, string> {
  const base = repositoryUrl(world, repository);
  const self = `${base}/pulls/${item.number}`;
  return {
    self,
    html: `${pageUrl(world, repository)}/pull/${item.number}`,
    issue: `${base}/issues/${item.number}`,
    comments: `${base}/issues/${item.number}/comments`,
    review_comments: `${self}/comments`,
    review_comment: `${base}/pulls/comments{/number}`,
    commits: `${self}/commits`,
    statuses: `${base}/statuses/${item.pull.headSha}`,
  };
}

/** What a pull request changes: from where its branch left the base. */
export async function filesOf(world: World, repository: Repository, pull: Pull): Promise<readonly FileDiff[]> {
  const from = (await world.git.mergeBase(repository.folder, pull.baseSha, pull.headSha)) ?? pull.baseSha;
  return world.git.diff(repository.folder, from, pull.headSha);
}

/** The whole pull request; what git must be asked for is asked here. */
export async function pullView(world: World, repository: Repository, item: PullItem): Promise<JsonObject> {
  const { pull } = item;
  const { git } = world;
  const files = await filesOf(world, repository, pull);
  const commits = await git.commitsBetween(repository.folder, pull.baseSha, pull.headSha);
  const isMergeable = await git.mergesCleanly(repository.folder, pull.baseSha, pull.headSha);
  const isMerged = pull.mergedAt !== null;
  return {
    ...simplePullView(world, repository, item),
    merged: isMerged,
    mergeable: isMerged ? null : isMergeable,
    rebaseable: isMerged ? null : isMergeable,
    mergeable_state: isMergeable ? "clean" : "dirty",
    merged_by: isMerged ? accountView(world, repository.owner) : null,
    comments: commentsOf(repository, item.number).length,
    review_comments: [...repository.reviewComments.values()].filter((one) => one.pull === item.number).length,
    maintainer_can_modify: pull.maintainerCanModify,
    commits: commits.length,
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    changed_files: files.length,
  };
}

export function reviewView(world: World, repository: Repository, review: Review): JsonObject {
  const html = `${pageUrl(world, repository)}/pull/${review.pull}#pullrequestreview-${review.id}`;
  const pull = `${repositoryUrl(world, repository)}/pulls/${review.pull}`;
  return {
    id: review.id,
    node_id: nodeId("PRR", review.id),
    user: accountView(world, review.author),
    body: review.body,
    state: review.state,
    html_url: html,
    pull_request_url: pull,
    author_association: associationOf(repository, review.author),
    _links: { html: { href: html }, pull_request: { href: pull } },
    submitted_at: review.submittedAt,
    commit_id: review.commitSha,
  };
}

export function reviewCommentView(world: World, repository: Repository, comment: ReviewComment): JsonObject {
  const url = `${repositoryUrl(world, repository)}/pulls/comments/${comment.id}`;
  const html = `${pageUrl(world, repository)}/pull/${comment.pull}#discussion_r${comment.id}`;
  const pull = `${repositoryUrl(world, repository)}/pulls/${comment.pull}`;
  return {
    url,
    pull_request_review_id: comment.reviewId,
    id: comment.id,
    node_id: nodeId("PRRC", comment.id),
    diff_hunk: comment.diffHunk,
    path: comment.path,
    position: 1,
    original_position: 1,
    commit_id: comment.commitSha,
    original_commit_id: comment.commitSha,
    ...(comment.inReplyTo === null ? {} : { in_reply_to_id: comment.inReplyTo }),
    user: accountView(world, comment.author),
    body: comment.body,
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    html_url: html,
    pull_request_url: pull,
    author_association: associationOf(repository, comment.author),
    _links: { self: { href: url }, html: { href: html }, pull_request: { href: pull } },
    reactions: reactionsView(repository, `review_comment:${comment.id}`, url),
    start_line: null,
    original_start_line: null,
    start_side: null,
    line: comment.line,
    original_line: comment.line,
    side: comment.side,
    subject_type: "line",
  };
}
