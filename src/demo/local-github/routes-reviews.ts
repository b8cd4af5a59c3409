import { z } from "zod";
import { type Answer, checkLength, created, invalid, notFound, ok } from "./answer.ts";
import { actorOf } from "./caller.ts";
import { commentLine, pullOf, submitReview } from "./change-pulls.ts";
import { bodyOf, numberOf, page, type RepositoryCall, type Route } from "./router.ts";
import { reviewCommentView, reviewView } from "./views-pull.ts";
import type { ReviewComment } from "./world.ts";

const read = [["pull_requests", "read"]] as const;
const write = [["pull_requests", "write"]] as const;

const states = { APPROVE: "APPROVED", REQUEST_CHANGES: "CHANGES_REQUESTED", COMMENT: "COMMENTED" } as const;
const NewReview = z.object({ body: z.string().default(""), event: z.enum(["APPROVE", "REQUEST_CHANGES", "COMMENT"]) });
const NewComment = z.object({ body: z.string(), path: z.string(), line: z.number(), commit_id: z.string() });
const TextBody = z.object({ body: z.string() });

export const reviewRoutes: readonly Route[] = [
  { kind: "repository", method: "GET", path: "/pulls/{pull_number}/reviews", needs: read, handle: listReviews },
  { kind: "repository", method: "POST", path: "/pulls/{pull_number}/reviews", needs: write, handle: createReview },
  {
    kind: "repository",
    method: "GET",
    path: "/pulls/{pull_number}/reviews/{review_id}",
    needs: read,
    handle: getReview,
  },
  { kind: "repository", method: "GET", path: "/pulls/{pull_number}/comments", needs: read, handle: listComments },
  { kind: "repository", method: "POST", path: "/pulls/{pull_number}/comments", needs: write, handle: createComment },
  {
    kind: "repository",
    method: "POST",
    path: "/pulls/{pull_number}/comments/{comment_id}/replies",
    needs: write,
    handle: reply,
  },
  {
    kind: "repository",
    method: "GET",
    path: "/pulls/comments/{comment_id}",
    needs: read,
    handle: (call) => ok(reviewCommentView(call.world, call.repository, commentFrom(call))),
  },
];

const pullFrom = (call: RepositoryCall) => pullOf(call.repository, numberOf(call, "pull_number"));

function commentFrom(call: RepositoryCall): ReviewComment {
  const comment = call.repository.reviewComments.get(numberOf(call, "comment_id"));
  if (comment === undefined) throw notFound();
  return comment;
}

function listReviews(call: RepositoryCall): Answer {
  const { number } = pullFrom(call);
  const reviews = [...call.repository.reviews.values()].filter((review) => review.pull === number);
  return page(
    call,
    reviews.map((review) => reviewView(call.world, call.repository, review)),
  );
}

async function createReview(call: RepositoryCall): Promise<Answer> {
  const item = pullFrom(call);
  const { body, event } = bodyOf(call, NewReview);
  checkLength("PullRequestReview", body);
  const by = actorOf(call);
  if (event !== "COMMENT" && item.author.id === by.account.id)
    throw invalid({
      resource: "PullRequestReview",
      code: "custom",
      message: "Can not approve or request changes on your own pull request",
    });
  const review = await submitReview(call.world, call.repository, by, { item, state: states[event], body });
  return ok(reviewView(call.world, call.repository, review));
}

function getReview(call: RepositoryCall): Answer {
  const { number } = pullFrom(call);
  const review = call.repository.reviews.get(numberOf(call, "review_id"));
  if (review?.pull !== number) throw notFound();
  return ok(reviewView(call.world, call.repository, review));
}

function listComments(call: RepositoryCall): Answer {
  const { number } = pullFrom(call);
  const comments = [...call.repository.reviewComments.values()].filter((comment) => comment.pull === number);
  return page(
    call,
    comments.map((comment) => reviewCommentView(call.world, call.repository, comment)),
  );
}

/** A single comment comes with a review of its own, as on GitHub. */
function createComment(call: RepositoryCall): Promise<Answer> {
  const item = pullFrom(call);
  const { body, path, line } = bodyOf(call, NewComment);
  checkLength("PullRequestReviewComment", body);
  return post(call, { item, path, line, body });
}

function reply(call: RepositoryCall): Promise<Answer> {
  const item = pullFrom(call);
  const thread = commentFrom(call);
  const { body } = bodyOf(call, TextBody);
  checkLength("PullRequestReviewComment", body);
  const inReplyTo = thread.inReplyTo ?? thread.id;
  return post(call, { item, path: thread.path, line: thread.line, body, inReplyTo });
}

type Post = Omit<Parameters<typeof commentLine>[3], "review">;

async function post(call: RepositoryCall, given: Post): Promise<Answer> {
  const { world, repository } = call;
  const by = actorOf(call);
  const review = await submitReview(world, repository, by, { item: given.item, state: "COMMENTED", body: "" });
  const comment = await commentLine(world, repository, by, { ...given, review });
  return created(reviewCommentView(world, repository, comment));
}
