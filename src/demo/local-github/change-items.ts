import type { JsonObject } from "../../domain/index.ts";
import { invalid, notFound, refused } from "./answer.ts";
import { type Actor, tell } from "./tell.ts";
import { commentView, issueView, labelView } from "./views-issue.ts";
import { isPull, pullView } from "./views-pull.ts";
import {
  type Comment,
  type Item,
  type Label,
  nowOf,
  type Reaction,
  type ReactionPlace,
  type Repository,
  type World,
} from "./world.ts";

/** A live item, or GitHub's answer for one that is gone. */
export function itemOf(repository: Repository, number: number): Item {
  const item = repository.items.get(number);
  if (item === undefined) throw notFound();
  if (item.isDeleted) throw refused(410, "This issue was deleted");
  return item;
}

export const nextNumber = (repository: Repository): number => Math.max(0, ...repository.items.keys()) + 1;

/** Issues and pull requests send the same changes under different events. */
async function tellItem(world: World, repository: Repository, item: Item, told: Told): Promise<void> {
  const { action, by, more = {} } = told;
  if (isPull(item)) {
    const pull = await pullView(world, repository, item);
    tell(
      world,
      repository,
      { event: "pull_request", action, by },
      { number: item.number, pull_request: pull, ...more },
    );
    return;
  }
  tell(world, repository, { event: "issues", action, by }, { issue: issueView(world, repository, item), ...more });
}
type Told = { readonly action: string; readonly by: Actor; readonly more?: JsonObject };

export async function openIssue(
  world: World,
  repository: Repository,
  by: Actor,
  given: { readonly title: string; readonly body: string | null },
): Promise<Item> {
  const at = nowOf(world);
  const item: Item = {
    id: world.nextId(),
    number: nextNumber(repository),
    author: by.account,
    viaApp: by.viaApp,
    createdAt: at,
    pull: null,
    labels: new Set(),
    title: given.title,
    body: given.body,
    state: "open",
    stateReason: null,
    isLocked: false,
    lockReason: null,
    isDeleted: false,
    updatedAt: at,
    closedAt: null,
  };
  repository.items.set(item.number, item);
  await tellItem(world, repository, item, { action: "opened", by });
  return item;
}

export function labelNamed(world: World, repository: Repository, name: string): Label {
  const key = name.toLowerCase();
  const present = repository.labels.get(key);
  if (present !== undefined) return present;
  const label: Label = { id: world.nextId(), name, color: "ededed", description: "" };
  repository.labels.set(key, label);
  return label;
}

/** Labels that are on already stay as they are and send nothing. */
export async function addLabels(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: Item; readonly names: readonly string[] },
): Promise<void> {
  const { item, names } = change;
  for (const name of names) {
    const label = labelNamed(world, repository, name);
    if (item.labels.has(name.toLowerCase())) continue;
    item.labels.add(name.toLowerCase());
    item.updatedAt = nowOf(world);
    await tellItem(world, repository, item, {
      action: "labeled",
      by,
      more: { label: labelView(world, repository, label) },
    });
  }
}

export async function removeLabel(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: Item; readonly name: string },
): Promise<void> {
  const { item, name } = change;
  const label = repository.labels.get(name.toLowerCase());
  if (label === undefined || !item.labels.delete(name.toLowerCase())) throw refused(404, "Label does not exist");
  item.updatedAt = nowOf(world);
  await tellItem(world, repository, item, {
    action: "unlabeled",
    by,
    more: { label: labelView(world, repository, label) },
  });
}

export type ItemChange = {
  readonly title?: string | undefined;
  readonly body?: string | null | undefined;
  readonly state?: "open" | "closed" | undefined;
  readonly stateReason?: string | null | undefined;
};

export async function changeItem(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: Item; readonly to: ItemChange },
): Promise<void> {
  const { item, to } = change;
  const before: Record<string, JsonObject> = {};
  if (to.title !== undefined && to.title !== item.title) before["title"] = { from: item.title };
  if (to.body !== undefined && to.body !== item.body) before["body"] = { from: item.body ?? "" };
  item.title = to.title ?? item.title;
  if (to.body !== undefined) item.body = to.body;
  item.updatedAt = nowOf(world);
  if (Object.keys(before).length > 0)
    await tellItem(world, repository, item, { action: "edited", by, more: { changes: before } });
  if (to.state === undefined || to.state === item.state) return;
  item.state = to.state;
  item.closedAt = to.state === "closed" ? nowOf(world) : null;
  item.stateReason = to.stateReason ?? (to.state === "closed" ? "completed" : "reopened");
  await tellItem(world, repository, item, { action: to.state === "closed" ? "closed" : "reopened", by });
}

export async function setLocked(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: Item; readonly isLocked: boolean; readonly reason?: string | null },
): Promise<void> {
  const { item, isLocked } = change;
  item.isLocked = isLocked;
  item.lockReason = isLocked ? (change.reason ?? null) : null;
  await tellItem(world, repository, item, { action: isLocked ? "locked" : "unlocked", by });
}

export async function deleteIssue(world: World, repository: Repository, by: Actor, item: Item): Promise<void> {
  item.isDeleted = true;
  await tellItem(world, repository, item, { action: "deleted", by });
}

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
    { issue: issueView(world, repository, item), comment: commentView(world, repository, comment), ...told.more },
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
