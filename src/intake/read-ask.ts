import type { DeliveryCode, JsonObject } from "../domain/index.ts";
import { type ActorRules, actorRefusal, triggerLabel } from "./actor-rules.ts";
import { type FoundCommand, findCommand } from "./commands.ts";
import { CommentPayload, type Item, LabelledPayload } from "./payload-shapes.ts";
import type { Ask, Reading, SignedDelivery, Wants } from "./reading.ts";

/** The label that starts a fix, on an open issue, by exact code points (SEC-33). */
export function readLabelAsk(rules: ActorRules, { payload, bodyDigest }: SignedDelivery): Reading {
  const event = "issues.labeled";
  const ignored = (code: DeliveryCode): Reading => ({ kind: "ignored", event, code });
  const parsed = LabelledPayload.safeParse(payload);
  if (!parsed.success) return ignored("shape_unknown");
  const { label, issue, repository, installation, sender } = parsed.data;
  if (label.name !== triggerLabel) return ignored("other_label");
  if (isPullRequest(issue)) return ignored("item_is_pull_request");
  if (!isOpen(issue)) return ignored("item_closed");
  const actor = actorRefusal(rules, sender, null);
  if (actor !== null) return ignored(actor);
  if (!installation) return ignored("no_installation");
  return {
    kind: "ask",
    event,
    // AUD-67: times have whole seconds; the digest tells two labellings in one second apart.
    businessKey: `label:${repository.id}:${issue.id}:${label.id}:${issue.updated_at ?? ""}:${bodyDigest}`,
    installationId: installation.id,
    repository,
    item: itemOf(issue),
    sender,
    commentId: null,
    at: issue.updated_at ?? null,
    request: "",
    wants: { kind: "run", verb: "fix" },
    detail: {},
  };
}

/** A command in a new comment, on an issue or in the conversation of a pull request. */
export function readCommentAsk(rules: ActorRules, { payload }: SignedDelivery): Reading {
  const event = "issue_comment.created";
  const ignored = (code: DeliveryCode): Reading => ({ kind: "ignored", event, code });
  const parsed = CommentPayload.safeParse(payload);
  if (!parsed.success) return ignored("shape_unknown");
  const { comment, issue, repository, installation, sender } = parsed.data;
  const actor = actorRefusal(rules, sender, comment.performed_via_github_app?.id ?? null);
  if (actor !== null) return ignored(actor);
  const found = findCommand(comment.body);
  if (found.kind === "none") return ignored("no_command");
  if (!installation) return ignored("no_installation");
  const item = itemOf(issue);
  return {
    kind: "ask",
    event,
    businessKey: `comment:${comment.id}`,
    installationId: installation.id,
    repository,
    item,
    sender,
    commentId: comment.id,
    at: comment.created_at ?? null,
    request: found.kind === "command" ? found.request : "",
    wants: wantsOf(found, item),
    detail: detailOf(found),
  };
}

const isPullRequest = (item: Item): boolean => item.pull_request !== undefined;
const isOpen = (item: Item): boolean => (item.state ?? "open") === "open";

const itemOf = (item: Item): Ask["item"] => ({
  kind: isPullRequest(item) ? "pull_request" : "issue",
  id: item.id,
  number: item.number,
  isOpen: isOpen(item),
  title: item.title,
  body: item.body ?? "",
  authorId: item.user?.id ?? null,
});

function wantsOf(found: FoundCommand, item: Ask["item"]): Wants {
  if (found.kind === "unreadable") return { kind: "answer", code: "command_unreadable" };
  if (found.kind !== "command") return { kind: "answer", code: "command_unknown" };
  const isIssue = item.kind === "issue";
  switch (found.verb) {
    case "fix":
      return isIssue ? { kind: "run", verb: "fix" } : { kind: "refusal", code: "item_is_pull_request" };
    case "retry":
      return isIssue ? { kind: "run", verb: "retry" } : { kind: "answer", code: "command_later" };
    case "revise":
      return isIssue ? { kind: "refusal", code: "item_is_issue" } : { kind: "answer", code: "command_later" };
    case "stop":
      return { kind: "stop" };
    case "help":
      return { kind: "answer", code: "help" };
    case "explain":
      return { kind: "answer", code: "explain_on_command_line" };
    case "approve":
    case "deny":
      return { kind: "approval", verb: found.verb, id: found.id ?? "", reason: reasonOf(found) };
  }
}

const reasonCharacters = 500;

/** What stands behind the id, as the person wrote it (GH-3). */
function reasonOf({ request, id }: Extract<FoundCommand, { kind: "command" }>): string {
  const behind = request.startsWith(id ?? "") ? request.slice((id ?? "").length) : request;
  return Array.from(behind.trim()).slice(0, reasonCharacters).join("").toWellFormed();
}

function detailOf(found: FoundCommand): JsonObject {
  if (found.kind !== "command") return found.kind === "wrong" ? { commandCount: found.count } : {};
  return { verb: found.verb, commandCount: found.count, ...(found.id === null ? {} : { id: found.id }) };
}
