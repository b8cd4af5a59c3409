import type { JsonObject } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import type { CommentFacts } from "../facts.ts";
import type { WriteContext, WriteRow } from "../write-row.ts";
import type { CreateComment, UpdateComment } from "../writes.ts";
import { isSameText, notOurs, outdated, ownMarkers, revisionOf, withMarkers } from "./marked.ts";

/** A conversation belongs to an issue or a pull request, and GitHub asks for the permission of either. */
export const conversationPermissions = { issues: "write", pull_requests: "write" } as const;
/** Clocks differ: an intent of ours may seem later than what came of it. */
const clockSlackMs = 10 * 60_000;

const resultOf = (comment: CommentFacts, revision: number): JsonObject => ({
  comment_id: comment.id,
  url: comment.url,
  revision,
});

export const createComment: WriteRow<CreateComment> = {
  naturalKey: ({ issue, actionId }) => `comment on ${issue} marked ${actionId}`,
  precondition: "the action has no comment yet",
  recipe: "list our App's comments since the intent: one with this action's marker, applied; none, not applied",
  permissions: conversationPermissions,
  send: async (context, { issue, actionId, body }, signal) => {
    const marked = withMarkers(context, body, [{ id: actionId, revision: null }]);
    const comment = await context.send(
      {
        method: "POST",
        route: "/issues/{issue_number}/comments",
        parameters: { issue_number: issue, body: marked },
      },
      shapes.Comment,
      signal,
    );
    return resultOf(comment, 0);
  },
  look: async (context, { issue, actionId }, sinceIso, signal) => {
    const since = new Date(Date.parse(sinceIso) - clockSlackMs).toISOString();
    const { items, isComplete } = await context.reader.comments(issue, since, signal);
    const saw = { issue, comments: items.length };
    for (const comment of items) {
      const markers = await ownMarkers(context, comment, signal);
      if (markers?.first.id === actionId)
        return { kind: "applied", result: resultOf(comment, revisionOf(markers)), saw };
    }
    return { kind: isComplete ? "not_applied" : "inconclusive", saw };
  },
};

const readComment = (context: WriteContext, comment: number, signal: AbortSignal): Promise<CommentFacts> =>
  context.read("/issues/comments/{comment_id}", { comment_id: comment }, shapes.Comment, signal);

export const updateComment: WriteRow<UpdateComment> = {
  naturalKey: ({ comment, revision }) => `comment ${comment} revision ${revision}`,
  precondition: "the comment is our App's and ends with a marker of ours of an earlier revision",
  recipe: "read it: our revision and text, applied; an earlier revision, not applied; else inconclusive",
  permissions: conversationPermissions,
  send: async (context, write, signal) => {
    const present = await readComment(context, write.comment, signal);
    const markers = await ownMarkers(context, present, signal);
    if (markers === null) throw notOurs("comment");
    if (revisionOf(markers) > write.revision) throw outdated("comment", revisionOf(markers));
    const body = withMarkers(context, write.body, [markers.first, { id: write.actionId, revision: write.revision }]);
    const comment = await context.send(
      {
        method: "PATCH",
        route: "/issues/comments/{comment_id}",
        parameters: { comment_id: write.comment, body },
      },
      shapes.Comment,
      signal,
    );
    return resultOf(comment, write.revision);
  },
  look: async (context, write, _since, signal) => {
    const present = await readComment(context, write.comment, signal);
    const markers = await ownMarkers(context, present, signal);
    const saw = { comment: write.comment, revision: markers === null ? null : revisionOf(markers) };
    if (markers === null) return { kind: "inconclusive", saw };
    if (revisionOf(markers) < write.revision) return { kind: "not_applied", saw };
    const latest = { id: write.actionId, revision: write.revision };
    const isApplied = isSameText(present.body, withMarkers(context, write.body, [markers.first, latest]));
    return isApplied
      ? { kind: "applied", result: resultOf(present, write.revision), saw }
      : { kind: "inconclusive", saw };
  },
};
