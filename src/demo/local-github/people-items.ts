import type { JsonObject } from "../../domain/index.ts";
import { suiteOn, tellRun, tellSuite } from "./change-checks.ts";
import { createComment, deleteComment, editComment, react } from "./change-comments.ts";
import {
  addLabels,
  changeItem,
  deleteIssue,
  itemOf,
  labelNamed,
  openIssue,
  removeLabel,
  setLocked,
  transferIssue,
} from "./change-items.ts";
import { mergePull, openPull, pullOf, submitReview } from "./change-pulls.ts";
import { changeRef } from "./change-refs.ts";
import { accountNamed, repositoryNamed } from "./people-repositories.ts";
import type { Actor } from "./tell.ts";
import { addressOf } from "./views-git.ts";
import { type CheckRun, type Comment, nowOf, type Repository, type Review, type World } from "./world.ts";

/** An issue or pull request: `owner/name` and its number. */
export type ItemPlace = { readonly repository: string; readonly number: number };
export type NewCommit = {
  readonly branch: string;
  readonly message: string;
  readonly by: string;
  /** Path to text; null takes the file out. */
  readonly files: Readonly<Record<string, string | null>>;
};
export type NewReview = {
  readonly by: string;
  readonly state: Exclude<Review["state"], "PENDING">;
  readonly body?: string;
  readonly comments?: readonly { readonly path: string; readonly line: number; readonly body: string }[];
};

/** What people do at the pages of issues and pull requests; `by` is a login. Each is told to the App as GitHub tells it. */
export type ItemPeople = ReturnType<typeof createItemPeople>;

export function createItemPeople(world: World) {
  const repository = (name: string): Repository => repositoryNamed(world, name);
  const actor = (login: string): Actor => ({ account: accountNamed(world, login), viaApp: false });
  const item = (place: ItemPlace) => itemOf(repository(place.repository), place.number);
  const setState = (place: ItemPlace, by: string, state: "open" | "closed"): Promise<void> =>
    changeItem(world, repository(place.repository), actor(by), { item: item(place), to: { state } });
  const setLock = (place: ItemPlace, by: string, isLocked: boolean): Promise<void> =>
    setLocked(world, repository(place.repository), actor(by), { item: item(place), isLocked });
  return {
    createLabel: (name: string, label: string): void => void labelNamed(world, repository(name), label),
    async openIssue(
      name: string,
      given: { readonly title: string; readonly body: string | null; readonly by: string },
    ): Promise<number> {
      return (await openIssue(world, repository(name), actor(given.by), given)).number;
    },
    label: (place: ItemPlace, label: string, by: string): Promise<void> =>
      addLabels(world, repository(place.repository), actor(by), { item: item(place), names: [label] }),
    unlabel: (place: ItemPlace, label: string, by: string): Promise<void> =>
      removeLabel(world, repository(place.repository), actor(by), { item: item(place), name: label }),
    edit: (place: ItemPlace, to: { readonly title?: string; readonly body?: string }, by: string): Promise<void> =>
      changeItem(world, repository(place.repository), actor(by), { item: item(place), to }),
    comment: (place: ItemPlace, body: string, by: string): number =>
      createComment(world, repository(place.repository), actor(by), { item: item(place), body }).id,
    editComment(name: string, commentId: number, body: string, by: string): void {
      const comment = commentOf(repository(name), commentId);
      editComment(world, repository(name), actor(by), { comment, body });
    },
    deleteComment(name: string, commentId: number, by: string): void {
      deleteComment(world, repository(name), actor(by), commentOf(repository(name), commentId));
    },
    react(place: ItemPlace, content: string, by: string): void {
      react(world, repository(place.repository), actor(by), { place: `issue:${place.number}`, content });
    },
    /** An issue or a pull request. */
    close: (place: ItemPlace, by: string): Promise<void> => setState(place, by, "closed"),
    reopen: (place: ItemPlace, by: string): Promise<void> => setState(place, by, "open"),
    lock: (place: ItemPlace, by: string): Promise<void> => setLock(place, by, true),
    unlock: (place: ItemPlace, by: string): Promise<void> => setLock(place, by, false),
    deleteIssue: (place: ItemPlace, by: string): Promise<void> =>
      deleteIssue(world, repository(place.repository), actor(by), item(place)),
    /** Returns its number in the other repository. */
    async transferIssue(place: ItemPlace, to: string, by: string): Promise<number> {
      const change = { item: item(place), to: repository(to) };
      return (await transferIssue(world, repository(place.repository), actor(by), change)).number;
    },
    async review(place: ItemPlace, given: NewReview): Promise<number> {
      const one = repository(place.repository);
      const draft = { ...given, item: pullOf(one, place.number), body: given.body ?? "" };
      return (await submitReview(world, one, actor(given.by), draft)).id;
    },
    merge: (place: ItemPlace, by: string): Promise<void> => {
      const one = repository(place.repository);
      return mergePull(world, one, actor(by), pullOf(one, place.number));
    },
    async openPull(
      name: string,
      given: { readonly title: string; readonly head: string; readonly base: string; readonly by: string },
    ): Promise<number> {
      const draft = { ...given, body: null, isDraft: false, maintainerCanModify: true };
      return (await openPull(world, repository(name), actor(given.by), draft)).number;
    },
    /** A commit by a person, pushed to a branch, which is made from the default one if it isn't there. */
    push: (name: string, commit: NewCommit): Promise<string> =>
      pushCommit(world, repository(name), actor(commit.by), commit),
    /** The button of a check run. */
    pressButton(name: string, checkRunId: number, identifier: string, by: string): void {
      const more: JsonObject = { requested_action: { identifier } };
      const told = { action: "requested_action", by: actor(by), more };
      tellRun(world, repository(name), checkRunOf(repository(name), checkRunId), told);
    },
    rerunCheck(name: string, checkRunId: number, by: string): void {
      const told = { action: "rerequested", by: actor(by) };
      tellRun(world, repository(name), checkRunOf(repository(name), checkRunId), told);
    },
    /** "Re-run all checks" on a commit. */
    rerunAll: (name: string, headSha: string, by: string): Promise<void> =>
      tellSuite(world, repository(name), suiteOn(world, repository(name), headSha), {
        action: "rerequested",
        by: actor(by),
      }),
  };
}

function commentOf(repository: Repository, id: number): Comment {
  const comment = repository.comments.get(id);
  if (comment === undefined) throw new Error(`there is no comment ${id}`);
  return comment;
}

function checkRunOf(repository: Repository, id: number): CheckRun {
  const run = repository.checkRuns.get(id);
  if (run === undefined) throw new Error(`there is no check run ${id}`);
  return run;
}

async function pushCommit(world: World, repository: Repository, by: Actor, commit: NewCommit): Promise<string> {
  const { git } = world;
  const { folder, defaultBranch } = repository;
  const name = `refs/heads/${commit.branch}`;
  const parent = (await git.ref(folder, name)) ?? (await git.ref(folder, `refs/heads/${defaultBranch}`));
  const changes = await Promise.all(
    Object.entries(commit.files).map(async ([path, text]) => ({
      path,
      mode: "100644",
      sha: text === null ? null : await git.writeBlob(folder, Buffer.from(text, "utf8")),
    })),
  );
  const tree = await git.writeTree(folder, parent, changes);
  const self = { name: by.account.login, email: addressOf(by.account), date: nowOf(world) };
  const sha = await git.writeCommit(folder, {
    tree,
    parents: parent === null ? [] : [parent],
    author: self,
    committer: self,
    message: commit.message,
    isSigned: false,
  });
  await changeRef(world, repository, by, { name, sha, isForced: true, permissions: { workflows: "write" } });
  return sha;
}
