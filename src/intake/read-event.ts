import type { DeliveryCode } from "../domain/index.ts";
import type { ActorRules } from "./actor-rules.ts";
import { readCommentAsk, readLabelAsk } from "./read-ask.ts";
import { readStop, stopEvents } from "./read-stop.ts";
import type { Reading, SignedDelivery } from "./reading.ts";

/** Of `github.md` section 1, for which something comes with a later issue. */
const laterEvents: ReadonlySet<string> = new Set([
  "pull_request_review.submitted",
  "pull_request_review_comment.created",
  "check_run.requested_action",
  "check_run.rerequested",
  "check_suite.rerequested",
  "check_run.completed",
  "check_suite.completed",
]);

/** Events that are looked at; of any other, only its name is recorded (SEC-113). */
export const handledEvents: ReadonlySet<string> = new Set(
  ["issues.labeled", "issue_comment.created", ...laterEvents, ...stopEvents].map((event) => event.split(".")[0] ?? ""),
);

const nameForm = /^[a-z][a-z_]{0,63}$/;

/** Event and action, such as `issues.labeled`: words of GitHub's form, or `unknown`. */
function eventOf({ eventName, payload }: Pick<SignedDelivery, "eventName" | "payload">): string {
  if (!nameForm.test(eventName)) return "unknown";
  const { action } = payload;
  return typeof action === "string" && nameForm.test(action) ? `${eventName}.${action}` : eventName;
}

/** What a signed payload says: pure, cheap, and without any right. */
export function readEvent(rules: ActorRules, delivery: SignedDelivery): Reading {
  const event = eventOf(delivery);
  const ignored = (code: DeliveryCode): Reading => ({ kind: "ignored", event, code });
  if (event === "issues.labeled") return readLabelAsk(rules, delivery);
  if (event === "issue_comment.created") return readCommentAsk(rules, delivery);
  if (stopEvents.has(event)) return readStop(rules, event, delivery);
  if (laterEvents.has(event)) return ignored("later_event");
  return ignored(handledEvents.has(delivery.eventName) ? "action_not_handled" : "event_not_handled");
}
