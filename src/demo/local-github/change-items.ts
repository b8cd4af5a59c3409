import type { JsonObject } from "../../domain/index.ts";
import { movedTo, notFound, refused } from "./answer.ts";
import { type Actor, tell } from "./tell.ts";
import { apiOf, repositoryView } from "./views.ts";
import { issuePayload, issueView, labelView } from "./views-issue.ts";
import { isPull, pullView } from "./views-pull.ts";
import { type Item, type Label, nowOf, type Repository, type World } from "./world.ts";

/** A live item, or GitHub's answer for one that is gone. */
export function itemOf(repository: Repository, number: number): Item {
  const item = repository.items.get(number);
  if (item === undefined) throw notFound();
  if (item.movedTo !== null) throw movedTo(item.movedTo);
  if (item.isDeleted) throw refused(410, "This issue was deleted");
  return item;
}

const nextNumber = (repository: Repository): number => Math.max(0, ...repository.items.keys()) + 1;

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
  tell(world, repository, { event: "issues", action, by }, { issue: issuePayload(world, repository, item), ...more });
}
export type Told = { readonly action: string; readonly by: Actor; readonly more?: JsonObject };

/** An item that was just opened, with the next number; not yet among the others. */
export function newItem<Pull extends Item["pull"]>(
  world: World,
  repository: Repository,
  by: Actor,
  given: { readonly title: string; readonly body: string | null; readonly pull: Pull },
): Item & { readonly pull: Pull } {
  const at = nowOf(world);
  return {
    id: world.nextId(),
    number: nextNumber(repository),
    author: by.account,
    viaApp: by.viaApp,
    createdAt: at,
    labels: new Set(),
    state: "open",
    stateReason: null,
    isLocked: false,
    lockReason: null,
    isDeleted: false,
    movedTo: null,
    updatedAt: at,
    closedAt: null,
    ...given,
  };
}

export async function openIssue(
  world: World,
  repository: Repository,
  by: Actor,
  given: { readonly title: string; readonly body: string | null },
): Promise<Item> {
  const item = newItem(world, repository, by, { ...given, pull: null });
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
  const changes = textChanges(item, to);
  item.title = to.title ?? item.title;
  if (to.body !== undefined) item.body = to.body;
  item.updatedAt = nowOf(world);
  if (Object.keys(changes).length > 0)
    await tellItem(world, repository, item, { action: "edited", by, more: { changes } });
  if (to.state === undefined || to.state === item.state) return;
  const isClosed = to.state === "closed";
  item.state = to.state;
  item.closedAt = isClosed ? nowOf(world) : null;
  item.stateReason = to.stateReason ?? (isClosed ? "completed" : "reopened");
  await tellItem(world, repository, item, { action: isClosed ? "closed" : "reopened", by });
}

/** What an edited event says of the texts before. */
const textChanges = (item: Item, to: ItemChange): JsonObject => ({
  ...(to.title === undefined || to.title === item.title ? {} : { title: { from: item.title } }),
  ...(to.body === undefined || to.body === item.body ? {} : { body: { from: item.body ?? "" } }),
});

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

/** The issue goes on in another repository under another number; here its address only leads there. */
export async function transferIssue(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: Item; readonly to: Repository },
): Promise<Item> {
  const { item, to } = change;
  const copy: Item = { ...item, id: world.nextId(), number: nextNumber(to), labels: new Set() };
  to.items.set(copy.number, copy);
  const changes = { new_issue: issueView(world, to, copy), new_repository: repositoryView(world, to) };
  await tellItem(world, repository, item, { action: "transferred", by, more: { changes } });
  item.isDeleted = true;
  item.movedTo = `${apiOf(world)}/repositories/${to.id}/issues/${copy.number}`;
  return copy;
}
