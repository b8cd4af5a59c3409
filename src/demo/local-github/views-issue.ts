import type { JsonObject } from "../../domain/index.ts";
import { accountView, appView, associationOf, nodeId, pageUrl, repositoryUrl } from "./views.ts";
import type { Comment, Item, Label, Reaction, ReactionPlace, Repository, World } from "./world.ts";

export const labelView = (world: World, repository: Repository, label: Label): JsonObject => ({
  id: label.id,
  node_id: nodeId("LA", label.id),
  url: `${repositoryUrl(world, repository)}/labels/${encodeURIComponent(label.name)}`,
  name: label.name,
  color: label.color,
  default: false,
  description: label.description,
});

export const labelsOf = (repository: Repository, item: Item): readonly Label[] =>
  [...item.labels].flatMap((name) => repository.labels.get(name) ?? []);

export const commentsOf = (repository: Repository, number: number): readonly Comment[] =>
  [...repository.comments.values()].filter((comment) => comment.item === number);

const contents = ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"];

export function reactionsView(repository: Repository, place: ReactionPlace, url: string): JsonObject {
  const here = [...repository.reactions.values()].filter((reaction) => reaction.place === place);
  const count = (content: string): number => here.filter((reaction) => reaction.content === content).length;
  return {
    url: `${url}/reactions`,
    total_count: here.length,
    ...Object.fromEntries(contents.map((content) => [content, count(content)])),
  };
}

export function issueView(world: World, repository: Repository, item: Item): JsonObject {
  const base = repositoryUrl(world, repository);
  const url = `${base}/issues/${item.number}`;
  const html = `${pageUrl(world, repository)}/${item.pull === null ? "issues" : "pull"}/${item.number}`;
  const pull = {
    url: `${base}/pulls/${item.number}`,
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    merged_at: item.pull?.mergedAt ?? null,
  };
  return {
    url,
    repository_url: base,
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: html,
    id: item.id,
    node_id: nodeId(item.pull === null ? "I" : "PR", item.id),
    number: item.number,
    title: item.title,
    user: accountView(world, item.author),
    labels: labelsOf(repository, item).map((label) => labelView(world, repository, label)),
    state: item.state,
    locked: item.isLocked,
    assignee: null,
    assignees: [],
    milestone: null,
    comments: commentsOf(repository, item.number).length,
    created_at: item.createdAt,
    updated_at: item.updatedAt,
    closed_at: item.closedAt,
    author_association: associationOf(repository, item.author),
    active_lock_reason: item.lockReason,
    ...(item.pull === null ? {} : { draft: item.pull.isDraft, pull_request: pull }),
    body: item.body,
    reactions: reactionsView(repository, `issue:${item.number}`, url),
    timeline_url: `${url}/timeline`,
    performed_via_github_app: item.viaApp ? appView(world) : null,
    state_reason: item.stateReason,
  };
}

/** In payloads, an issue says that it is no draft. */
export const issuePayload = (world: World, repository: Repository, item: Item): JsonObject => ({
  draft: false,
  ...issueView(world, repository, item),
});

export function commentView(world: World, repository: Repository, comment: Comment): JsonObject {
  const base = repositoryUrl(world, repository);
  const url = `${base}/issues/comments/${comment.id}`;
  const kind = repository.items.get(comment.item)?.pull === null ? "issues" : "pull";
  return {
    url,
    html_url: `${pageUrl(world, repository)}/${kind}/${comment.item}#issuecomment-${comment.id}`,
    issue_url: `${base}/issues/${comment.item}`,
    id: comment.id,
    node_id: nodeId("IC", comment.id),
    user: accountView(world, comment.author),
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    author_association: associationOf(repository, comment.author),
    body: comment.body,
    reactions: reactionsView(repository, `comment:${comment.id}`, url),
    performed_via_github_app: comment.viaApp ? appView(world) : null,
  };
}

export const reactionView = (world: World, reaction: Reaction): JsonObject => ({
  id: reaction.id,
  node_id: nodeId("REA", reaction.id),
  user: accountView(world, reaction.author),
  content: reaction.content,
  created_at: reaction.createdAt,
});
