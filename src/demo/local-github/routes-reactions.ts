import { z } from "zod";
import { type Answer, noContent, notFound } from "./answer.ts";
import { actorOf } from "./caller.ts";
import { checkUnlocked, react } from "./change-comments.ts";
import { itemOf } from "./change-items.ts";
import { bodyOf, numberOf, page, type RepositoryCall, type Route } from "./router.ts";
import { reactionView } from "./views-issue.ts";
import type { Item, ReactionPlace } from "./world.ts";

const Content = z.enum(["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]);
const ReactionBody = z.object({ content: Content });

type Place = { readonly place: ReactionPlace; readonly item: Item };
type Surface = {
  readonly path: string;
  readonly place: (call: RepositoryCall) => Place;
  readonly permissions: readonly string[];
};

const surfaces: readonly Surface[] = [
  {
    path: "/issues/comments/{comment_id}",
    permissions: ["issues", "pull_requests"],
    place: (call) => {
      const comment = call.repository.comments.get(numberOf(call, "comment_id"));
      if (comment === undefined) throw notFound();
      return { place: `comment:${comment.id}`, item: itemOf(call.repository, comment.item) };
    },
  },
  {
    path: "/issues/{issue_number}",
    permissions: ["issues", "pull_requests"],
    place: (call) => {
      const item = itemOf(call.repository, numberOf(call, "issue_number"));
      return { place: `issue:${item.number}`, item };
    },
  },
  {
    path: "/pulls/comments/{comment_id}",
    permissions: ["pull_requests"],
    place: (call) => {
      const comment = call.repository.reviewComments.get(numberOf(call, "comment_id"));
      if (comment === undefined) throw notFound();
      return { place: `review_comment:${comment.id}`, item: itemOf(call.repository, comment.pull) };
    },
  },
];

export const reactionRoutes: readonly Route[] = surfaces.flatMap((surface): readonly Route[] => [
  {
    kind: "repository",
    method: "GET",
    path: `${surface.path}/reactions`,
    needs: surface.permissions.map((name) => [name, "read"] as const),
    handle: (call) => list(call, surface),
  },
  {
    kind: "repository",
    method: "POST",
    path: `${surface.path}/reactions`,
    needs: surface.permissions.map((name) => [name, "write"] as const),
    handle: (call) => create(call, surface),
  },
  {
    kind: "repository",
    method: "DELETE",
    path: `${surface.path}/reactions/{reaction_id}`,
    needs: surface.permissions.map((name) => [name, "write"] as const),
    handle: (call) => {
      const reaction = call.repository.reactions.get(numberOf(call, "reaction_id"));
      if (reaction?.place !== surface.place(call).place) throw notFound();
      call.repository.reactions.delete(reaction.id);
      return noContent;
    },
  },
]);

function list(call: RepositoryCall, surface: Surface): Answer {
  const { place } = surface.place(call);
  const content = call.query.get("content");
  const reactions = [...call.repository.reactions.values()].filter(
    (reaction) => reaction.place === place && (content === null || reaction.content === content),
  );
  return page(
    call,
    reactions.map((reaction) => reactionView(call.world, reaction)),
  );
}

function create(call: RepositoryCall, surface: Surface): Answer {
  const { place, item } = surface.place(call);
  const { content } = bodyOf(call, ReactionBody);
  checkUnlocked(item, actorOf(call));
  const { reaction, isNew } = react(call.world, call.repository, actorOf(call), { place, content });
  return { status: isNew ? 201 : 200, body: reactionView(call.world, reaction) };
}
