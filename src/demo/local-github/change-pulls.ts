import { invalid, notFound, refused } from "./answer.ts";
import { itemOf, newItem } from "./change-items.ts";
import { type Actor, tell } from "./tell.ts";
import {
  filesOf,
  isPull,
  type PullItem,
  pullView,
  reviewCommentView,
  reviewView,
  simplePullView,
} from "./views-pull.ts";
import { nowOf, type Repository, type Review, type ReviewComment, type World } from "./world.ts";

export function pullOf(repository: Repository, number: number): PullItem {
  const item = itemOf(repository, number);
  if (!isPull(item)) throw notFound();
  return item;
}

export type PullDraft = {
  readonly title: string;
  readonly body: string | null;
  /** A branch, with or without `owner:` before it. */
  readonly head: string;
  readonly base: string;
  readonly isDraft: boolean;
  readonly maintainerCanModify: boolean;
};

/** Opens a pull request, under GitHub's conditions for one. */
export async function openPull(world: World, repository: Repository, by: Actor, draft: PullDraft): Promise<PullItem> {
  if (draft.isDraft && !repository.takesDrafts)
    throw refused(422, "Draft pull requests are not supported in this repository.");
  const head = draft.head.startsWith(`${repository.owner.login}:`)
    ? draft.head.slice(repository.owner.login.length + 1)
    : draft.head;
  const { headSha, baseSha } = await endsOf(world, repository, { head, base: draft.base });
  const { title, body, base, isDraft, maintainerCanModify } = draft;
  const pull = { id: world.nextId(), head, base, headSha, baseSha, isDraft, mergedAt: null, maintainerCanModify };
  const item = newItem(world, repository, by, { title, body, pull });
  repository.items.set(item.number, item);
  await world.git.setRef(repository.folder, `refs/pull/${item.number}/head`, headSha, null);
  await tellPull(world, repository, item, { action: "opened", by });
  return item;
}

async function endsOf(
  world: World,
  repository: Repository,
  names: { readonly head: string; readonly base: string },
): Promise<{ readonly headSha: string; readonly baseSha: string }> {
  const shaOf = (branch: string): Promise<string | null> => world.git.ref(repository.folder, `refs/heads/${branch}`);
  const headSha = await shaOf(names.head);
  const baseSha = await shaOf(names.base);
  if (headSha === null) throw invalid({ resource: "PullRequest", field: "head", code: "invalid" });
  if (baseSha === null) throw invalid({ resource: "PullRequest", field: "base", code: "invalid" });
  const label = `${repository.owner.login}:${names.head}`;
  const twin = [...repository.items.values()].find(
    (item) => isPull(item) && item.state === "open" && item.pull.head === names.head && item.pull.base === names.base,
  );
  if (twin !== undefined)
    throw invalid({ resource: "PullRequest", code: "custom", message: `A pull request already exists for ${label}.` });
  if ((await world.git.commitsBetween(repository.folder, baseSha, headSha)).length === 0)
    throw invalid({
      resource: "PullRequest",
      code: "custom",
      message: `No commits between ${names.base} and ${names.head}`,
    });
  return { headSha, baseSha };
}

async function tellPull(
  world: World,
  repository: Repository,
  item: PullItem,
  told: { readonly action: string; readonly by: Actor },
): Promise<void> {
  const view = await pullView(world, repository, item);
  tell(world, repository, { event: "pull_request", ...told }, { number: item.number, pull_request: view });
}

export async function setDraft(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly item: PullItem; readonly isDraft: boolean },
): Promise<void> {
  const { item, isDraft } = change;
  if (item.pull.isDraft === isDraft) return;
  item.pull.isDraft = isDraft;
  item.updatedAt = nowOf(world);
  await tellPull(world, repository, item, { action: isDraft ? "converted_to_draft" : "ready_for_review", by });
}

/** Only a fast forward is modelled: the base branch moves to the head. */
export async function mergePull(world: World, repository: Repository, by: Actor, item: PullItem): Promise<void> {
  const { pull } = item;
  if (!(await world.git.isAncestor(repository.folder, pull.baseSha, pull.headSha)))
    throw refused(405, "Pull Request is not mergeable");
  await world.git.setRef(repository.folder, `refs/heads/${pull.base}`, pull.headSha, pull.baseSha);
  pull.mergedAt = nowOf(world);
  item.state = "closed";
  item.closedAt = nowOf(world);
  item.updatedAt = nowOf(world);
  await tellPull(world, repository, item, { action: "closed", by });
}

export type ReviewDraft = {
  readonly item: PullItem;
  readonly state: Review["state"];
  readonly body: string;
  readonly comments?: readonly { readonly path: string; readonly line: number; readonly body: string }[];
};

export async function submitReview(
  world: World,
  repository: Repository,
  by: Actor,
  draft: ReviewDraft,
): Promise<Review> {
  const { item } = draft;
  const review: Review = {
    id: world.nextId(),
    pull: item.number,
    author: by.account,
    state: draft.state,
    body: draft.body,
    commitSha: item.pull.headSha,
    submittedAt: nowOf(world),
  };
  repository.reviews.set(review.id, review);
  const view = reviewView(world, repository, review);
  const pull = simplePullView(world, repository, item);
  tell(
    world,
    repository,
    { event: "pull_request_review", action: "submitted", by },
    { review: { ...view, state: draft.state.toLowerCase() }, pull_request: pull },
  );
  for (const comment of draft.comments ?? []) await commentLine(world, repository, by, { ...comment, review, item });
  return review;
}

export type LineComment = {
  readonly item: PullItem;
  readonly review: Review;
  readonly path: string;
  readonly line: number;
  readonly body: string;
  readonly inReplyTo?: number;
};

export async function commentLine(
  world: World,
  repository: Repository,
  by: Actor,
  given: LineComment,
): Promise<ReviewComment> {
  const { item, review, path, line, body } = given;
  const files = await filesOf(world, repository, item.pull);
  const file = files.find((one) => one.path === path);
  if (file === undefined)
    throw invalid({ resource: "PullRequestReviewComment", code: "invalid", field: "pull_request_review_thread.path" });
  const comment: ReviewComment = {
    id: world.nextId(),
    pull: item.number,
    reviewId: review.id,
    author: by.account,
    path,
    line,
    side: "RIGHT",
    diffHunk: file.patch,
    commitSha: item.pull.headSha,
    inReplyTo: given.inReplyTo ?? null,
    createdAt: nowOf(world),
    body,
    updatedAt: nowOf(world),
  };
  repository.reviewComments.set(comment.id, comment);
  tell(
    world,
    repository,
    { event: "pull_request_review_comment", action: "created", by },
    {
      comment: reviewCommentView(world, repository, comment),
      pull_request: simplePullView(world, repository, item),
    },
  );
  return comment;
}
