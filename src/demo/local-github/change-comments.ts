import { invalid, refused } from "./answer.ts";
import { itemOf, type Told } from "./change-items.ts";
import { type Actor, tell } from "./tell.ts";
import { commentView, issuePayload } from "./views-issue.ts";
import {
  type Comment,
  type Item,
  nowOf,
  type Reaction,
  type ReactionPlace,
  type Repository,
  type World,
} from "./world.ts";

/** A locked conversation takes comments of people who can write, but none of an App. */
export function checkUnlocked(item: Item, by: Actor): void {
  if (item.isLocked && by.viaApp) throw refused(403, "Unable to create comment because issue is locked.");
}

export function createComment(
  world: World,
  repository: Repository,
  by: Actor,
  given: { readonly item: Item; readonly body: string },
): Comment {
  const { item, body } = given;
  checkUnlocked(item, by);
  if (body.trim() === "") throw invalid({ resource: "IssueComment", code: "missing_field", field: "body" });
  const at = nowOf(world);
  const comment: Comment = {
    id: world.nextId(),
    item: item.number,
    author: by.account,
    viaApp: by.viaApp,
    createdAt: at,
    body,
    updatedAt: at,
  };
  repository.comments.set(comment.id, comment);
  item.updatedAt = at;
  tellComment(world, repository, comment, { action: "created", by });
  return comment;
}

export function editComment(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly comment: Comment; readonly body: string },
): void {
  const { comment, body } = change;
  const changes = { body: { from: comment.body } };
  comment.body = body;
  comment.updatedAt = nowOf(world);
  tellComment(world, repository, comment, { action: "edited", by, more: { changes } });
}

export function deleteComment(world: World, repository: Repository, by: Actor, comment: Comment): void {
  repository.comments.delete(comment.id);
  tellComment(world, repository, comment, { action: "deleted", by });
}

function tellComment(world: World, repository: Repository, comment: Comment, told: Told): void {
  const item = itemOf(repository, comment.item);
  tell(
    world,
    repository,
    { event: "issue_comment", action: told.action, by: told.by },
    { issue: issuePayload(world, repository, item), comment: commentView(world, repository, comment), ...told.more },
  );
}

/** The same reaction of the same account stays one. GitHub sends no event for reactions. */
export function react(
  world: World,
  repository: Repository,
  by: Actor,
  given: { readonly place: ReactionPlace; readonly content: string },
): { readonly reaction: Reaction; readonly isNew: boolean } {
  const { place, content } = given;
  const present = [...repository.reactions.values()].find(
    (one) => one.place === place && one.content === content && one.author.id === by.account.id,
  );
  if (present !== undefined) return { reaction: present, isNew: false };
  const reaction: Reaction = { id: world.nextId(), place, author: by.account, content, createdAt: nowOf(world) };
  repository.reactions.set(reaction.id, reaction);
  return { reaction, isNew: true };
}
