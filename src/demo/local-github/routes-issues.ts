import { z } from "zod";
import { type Answer, checkLength, created, invalid, noContent, notFound, ok } from "./answer.ts";
import { actorOf } from "./caller.ts";
import { createComment, deleteComment, editComment } from "./change-comments.ts";
import { addLabels, changeItem, itemOf, labelNamed, openIssue, removeLabel, setLocked } from "./change-items.ts";
import { bodyOf, numberOf, page, type RepositoryCall, type Route, textOf } from "./router.ts";
import { commentsOf, commentView, issueView, labelsOf, labelView } from "./views-issue.ts";
import type { Comment } from "./world.ts";

/** Pull requests are issues too: their labels and comments open to either permission. */
const read = [
  ["issues", "read"],
  ["pull_requests", "read"],
] as const;
const write = [
  ["issues", "write"],
  ["pull_requests", "write"],
] as const;

const NewIssue = z.object({
  title: z.union([z.string(), z.number()]).transform(String),
  body: z.string().nullish(),
  labels: z.array(z.string()).default([]),
});
const ChangedIssue = z.object({
  title: z.string().optional(),
  body: z.string().nullish(),
  state: z.enum(["open", "closed"]).optional(),
  state_reason: z.string().nullish(),
});
const CommentBody = z.object({ body: z.string() });
const LabelNames = z.union([
  z.object({ labels: z.array(z.string()) }),
  z.array(z.string()).transform((labels) => ({ labels })),
]);
const LockBody = z.object({ lock_reason: z.enum(["off-topic", "too heated", "resolved", "spam"]).optional() });
const NewLabel = z.object({ name: z.string().min(1) });

export const issueRoutes: readonly Route[] = [
  { kind: "repository", method: "GET", path: "/issues", needs: read, handle: listIssues },
  { kind: "repository", method: "POST", path: "/issues", needs: [["issues", "write"]], handle: createIssue },
  { kind: "repository", method: "GET", path: "/issues/{issue_number}", needs: read, handle: getIssue },
  { kind: "repository", method: "PATCH", path: "/issues/{issue_number}", needs: write, handle: updateIssue },
  { kind: "repository", method: "GET", path: "/issues/{issue_number}/labels", needs: read, handle: listLabels },
  { kind: "repository", method: "POST", path: "/issues/{issue_number}/labels", needs: write, handle: putLabels },
  {
    kind: "repository",
    method: "DELETE",
    path: "/issues/{issue_number}/labels/{name}",
    needs: write,
    handle: takeLabel,
  },
  { kind: "repository", method: "PUT", path: "/issues/{issue_number}/lock", needs: write, handle: lock },
  { kind: "repository", method: "DELETE", path: "/issues/{issue_number}/lock", needs: write, handle: unlock },
  { kind: "repository", method: "GET", path: "/issues/{issue_number}/comments", needs: read, handle: listComments },
  { kind: "repository", method: "POST", path: "/issues/{issue_number}/comments", needs: write, handle: postComment },
  { kind: "repository", method: "GET", path: "/issues/comments/{comment_id}", needs: read, handle: getComment },
  { kind: "repository", method: "PATCH", path: "/issues/comments/{comment_id}", needs: write, handle: patchComment },
  { kind: "repository", method: "DELETE", path: "/issues/comments/{comment_id}", needs: write, handle: dropComment },
  { kind: "repository", method: "GET", path: "/labels", needs: read, handle: listAllLabels },
  { kind: "repository", method: "POST", path: "/labels", needs: write, handle: createLabel },
  { kind: "repository", method: "GET", path: "/labels/{name}", needs: read, handle: getLabel },
];

const itemFrom = (call: RepositoryCall) => itemOf(call.repository, numberOf(call, "issue_number"));

function commentFrom(call: RepositoryCall): Comment {
  const comment = call.repository.comments.get(numberOf(call, "comment_id"));
  if (comment === undefined) throw notFound();
  return comment;
}

const labelsAnswer = (call: RepositoryCall): Answer =>
  ok(labelsOf(call.repository, itemFrom(call)).map((label) => labelView(call.world, call.repository, label)));

function listIssues(call: RepositoryCall): Answer {
  const state = call.query.get("state") ?? "open";
  const wanted = (call.query.get("labels") ?? "").toLowerCase().split(",").filter(Boolean);
  const items = [...call.repository.items.values()]
    .filter((item) => !item.isDeleted && (state === "all" || item.state === state))
    .filter((item) => wanted.every((name) => item.labels.has(name)))
    .sort((a, b) => b.number - a.number);
  return page(
    call,
    items.map((item) => issueView(call.world, call.repository, item)),
  );
}

async function createIssue(call: RepositoryCall): Promise<Answer> {
  const { title, body, labels } = bodyOf(call, NewIssue);
  checkLength("Issue", body);
  const item = await openIssue(call.world, call.repository, actorOf(call), { title, body: body ?? null });
  await addLabels(call.world, call.repository, actorOf(call), { item, names: labels });
  return created(issueView(call.world, call.repository, item));
}

function getIssue(call: RepositoryCall): Answer {
  return ok(issueView(call.world, call.repository, itemFrom(call)));
}

async function updateIssue(call: RepositoryCall): Promise<Answer> {
  const item = itemFrom(call);
  const { title, body, state, state_reason } = bodyOf(call, ChangedIssue);
  checkLength("Issue", body);
  const to = { title, body, state, stateReason: state_reason };
  await changeItem(call.world, call.repository, actorOf(call), { item, to });
  return ok(issueView(call.world, call.repository, item));
}

function listLabels(call: RepositoryCall): Answer {
  return page(
    call,
    labelsOf(call.repository, itemFrom(call)).map((label) => labelView(call.world, call.repository, label)),
  );
}

async function putLabels(call: RepositoryCall): Promise<Answer> {
  const item = itemFrom(call);
  const { labels } = bodyOf(call, LabelNames);
  if (labels.some((name) => name.trim() === "" || name.length > 50))
    throw invalid({ resource: "Label", code: "invalid", field: "name" });
  await addLabels(call.world, call.repository, actorOf(call), { item, names: labels });
  return labelsAnswer(call);
}

async function takeLabel(call: RepositoryCall): Promise<Answer> {
  const change = { item: itemFrom(call), name: textOf(call, "name") };
  await removeLabel(call.world, call.repository, actorOf(call), change);
  return labelsAnswer(call);
}

async function lock(call: RepositoryCall): Promise<Answer> {
  const { lock_reason } = bodyOf(call, LockBody);
  const change = { item: itemFrom(call), isLocked: true, reason: lock_reason ?? null };
  await setLocked(call.world, call.repository, actorOf(call), change);
  return noContent;
}

async function unlock(call: RepositoryCall): Promise<Answer> {
  await setLocked(call.world, call.repository, actorOf(call), { item: itemFrom(call), isLocked: false });
  return noContent;
}

function listComments(call: RepositoryCall): Answer {
  const since = call.query.get("since");
  const comments = commentsOf(call.repository, itemFrom(call).number).filter(
    (comment) => since === null || comment.updatedAt >= since.replace(/\.\d+Z$/, "Z"),
  );
  return page(
    call,
    comments.map((comment) => commentView(call.world, call.repository, comment)),
  );
}

function postComment(call: RepositoryCall): Answer {
  const item = itemFrom(call);
  const { body } = bodyOf(call, CommentBody);
  checkLength("IssueComment", body);
  const comment = createComment(call.world, call.repository, actorOf(call), { item, body });
  return created(commentView(call.world, call.repository, comment));
}

function getComment(call: RepositoryCall): Answer {
  return ok(commentView(call.world, call.repository, commentFrom(call)));
}

function patchComment(call: RepositoryCall): Answer {
  const comment = commentFrom(call);
  const { body } = bodyOf(call, CommentBody);
  checkLength("IssueComment", body);
  editComment(call.world, call.repository, actorOf(call), { comment, body });
  return ok(commentView(call.world, call.repository, comment));
}

function dropComment(call: RepositoryCall): Answer {
  deleteComment(call.world, call.repository, actorOf(call), commentFrom(call));
  return noContent;
}

function listAllLabels(call: RepositoryCall): Answer {
  return page(
    call,
    [...call.repository.labels.values()].map((label) => labelView(call.world, call.repository, label)),
  );
}

function createLabel(call: RepositoryCall): Answer {
  const { name } = bodyOf(call, NewLabel);
  if (call.repository.labels.has(name.toLowerCase()))
    throw invalid({ resource: "Label", code: "already_exists", field: "name" });
  return created(labelView(call.world, call.repository, labelNamed(call.world, call.repository, name)));
}

function getLabel(call: RepositoryCall): Answer {
  const label = call.repository.labels.get(textOf(call, "name").toLowerCase());
  if (label === undefined) throw notFound();
  return ok(labelView(call.world, call.repository, label));
}
