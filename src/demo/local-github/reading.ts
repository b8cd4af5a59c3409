import type { JsonObject } from "../../domain/index.ts";
import { itemOf } from "./change-items.ts";
import { pullOf } from "./change-pulls.ts";
import type { Ref } from "./git-store.ts";
import type { ItemPlace } from "./people-items.ts";
import { repositoryNamed } from "./people-repositories.ts";
import { checkRunView } from "./views-check.ts";
import { commentsOf, commentView, issueView } from "./views-issue.ts";
import { isPull, pullView, reviewCommentView } from "./views-pull.ts";
import type { Reaction, World } from "./world.ts";

/** What stands on this GitHub, for demo and tests to look at: in the shapes of its API where it has one. */
export type Reading = ReturnType<typeof createReading>;

export function createReading(world: World) {
  return {
    issue(place: ItemPlace): JsonObject {
      const repository = repositoryNamed(world, place.repository);
      return issueView(world, repository, itemOf(repository, place.number));
    },
    comments(place: ItemPlace): readonly JsonObject[] {
      const repository = repositoryNamed(world, place.repository);
      return commentsOf(repository, place.number).map((comment) => commentView(world, repository, comment));
    },
    pull(place: ItemPlace): Promise<JsonObject> {
      const repository = repositoryNamed(world, place.repository);
      return pullView(world, repository, pullOf(repository, place.number));
    },
    /** All of them, open or not. */
    pulls(name: string): Promise<readonly JsonObject[]> {
      const repository = repositoryNamed(world, name);
      return Promise.all(
        [...repository.items.values()].filter(isPull).map((item) => pullView(world, repository, item)),
      );
    },
    reviewComments(place: ItemPlace): readonly JsonObject[] {
      const repository = repositoryNamed(world, place.repository);
      return [...repository.reviewComments.values()]
        .filter((comment) => comment.pull === place.number)
        .map((comment) => reviewCommentView(world, repository, comment));
    },
    checkRuns(name: string): readonly JsonObject[] {
      const repository = repositoryNamed(world, name);
      return [...repository.checkRuns.values()].map((run) => checkRunView(world, repository, run));
    },
    reactions: (name: string): readonly Reaction[] => [...repositoryNamed(world, name).reactions.values()],
    /** Those under `prefix`, such as `refs/heads/`. */
    refs: (name: string, prefix = "refs/"): Promise<readonly Ref[]> =>
      world.git.refs(repositoryNamed(world, name).folder, prefix),
    /** The bytes of a file at a commit or branch, as text; null if it isn't there. */
    async file(name: string, revision: string, path: string): Promise<string | null> {
      const { folder } = repositoryNamed(world, name);
      const commit = await world.git.resolve(folder, revision);
      const rows = commit === null ? [] : await world.git.readTree(folder, commit, true);
      const row = rows.find((one) => one.path === path && one.type === "blob");
      return row === undefined ? null : (await world.git.readBlob(folder, row.sha)).toString("utf8");
    },
  };
}
