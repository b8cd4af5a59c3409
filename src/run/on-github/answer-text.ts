import type { DeliveryCode, Redacted } from "../../domain/index.ts";
import { ownInCode } from "./markdown.ts";

/** What a writer is told about a request that started nothing: the cause, and what to do (GH-15). */
export type AnswerFacts = {
  readonly code: DeliveryCode;
  /** The live run that is in the way; null where none is. */
  readonly runId: string | null;
  /** Lines of the comment that were commands; only the first counts (GH-4). */
  readonly commandCount: number;
  /** Of a command that is answered with one to type, such as `explain`. */
  readonly id: string | null;
};

type Told = { readonly cause: string; readonly remedy: string };

const cap = (what: string): Told => ({
  cause: `the cap of runs ${what} is reached`,
  remedy: "wait until runs of that time have grown old, or let the operator raise the cap",
});

const told: Partial<Readonly<Record<DeliveryCode, Told>>> = {
  trigger_time_unreadable: { cause: "the time of the request could not be read", remedy: "ask again" },
  item_closed: { cause: "it is closed", remedy: "open it again, then ask again" },
  item_is_pull_request: { cause: "this is a pull request", remedy: "`/countersign fix` is for issues" },
  item_is_issue: { cause: "this is an issue", remedy: "`/countersign revise` is for pull requests of Countersign's" },
  issue_without_text: { cause: "it has no text", remedy: "write what is wrong and what is wanted, then ask again" },
  label_gone: { cause: "the label was taken off before the request was read", remedy: "put it on again" },
  stopped_since: { cause: "it was stopped or taken back after it was asked for", remedy: "ask again" },
  state_unknown: { cause: "GitHub could not be asked whether it is still open", remedy: "ask again later" },
  repository_archived: { cause: "the repository is archived", remedy: "unarchive it, then ask again" },
  repository_disabled: { cause: "the repository is disabled", remedy: "ask again once GitHub has enabled it" },
  fork_not_permitted: { cause: "this repository is a fork", remedy: "let the operator list it in `permitted_forks`" },
  paused: { cause: "Countersign is paused by its operator", remedy: "ask again once it goes on" },
  run_live: { cause: "a run for it is under way", remedy: "watch its comment, or stop it with `/countersign stop`" },
  cap_issue_hour: cap("for one issue in an hour"),
  cap_issue_day: cap("for one issue in a day"),
  cap_repository_hour: cap("for this repository in an hour"),
  cap_repository_day: cap("for this repository in a day"),
  cap_sender_hour: cap("for one person in an hour"),
  cap_sender_day: cap("for one person in a day"),
  cap_tokens_day: {
    cause: "the cap of tokens that all runs may use in a day, `caps.tokens_per_day`, is reached",
    remedy: "wait until runs of that time have grown old, or let the operator raise it in `operator.json`",
  },
  repeated_failures: {
    cause: "the last runs in this repository all failed, as many in a row as `caps.failures_per_repository` allows",
    remedy:
      "see why with `countersign runs list`, then wait until its minutes have gone by, or let the operator raise it",
  },
  approval_unknown: {
    cause: "there is no approval of that id here",
    remedy: "copy the command from the question; the run's own comment lists all that wait",
  },
  approval_foreign: {
    cause: "that approval belongs to another issue",
    remedy: "answer below the question that you mean",
  },
  approval_answered: { cause: "that approval was answered before", remedy: "there is nothing to do" },
  approval_expired: {
    cause: "the time of that approval is over",
    remedy: "ask for a new run where it is still wanted",
  },
  approval_closed: { cause: "what was asked about is no longer wanted", remedy: "there is nothing to do" },
  approval_forbidden: {
    cause: "the policy of this Countersign does not let you answer it",
    remedy: "let another person who may write answer",
  },
  approval_withdrawn: {
    cause: "the comment with the answer was deleted or changed before it could be taken",
    remedy: "write the command anew where you still want it",
  },
  approval_unread: {
    cause: "GitHub could not be asked whether the comment with the answer still stands",
    remedy: "write the command again later",
  },
  command_unknown: { cause: "that is no command", remedy: "see the commands below" },
  command_unreadable: { cause: "the comment is too long to find the command in it", remedy: "write it alone" },
  command_later: { cause: "that command is not there yet", remedy: "see the commands below" },
  explain_on_command_line: { cause: "actions are explained on the command line", remedy: "type the command below" },
  nothing_to_stop: { cause: "no run of it is under way", remedy: "there is nothing to do" },
  already_stopping: { cause: "its run is being stopped", remedy: "there is nothing to do" },
};

const commands = [
  "- `/countersign fix` on an issue starts a run; so does the label `countersign`",
  "- `/countersign retry` starts a new one",
  "- `/countersign stop` stops the run under way",
  "- `/countersign approve <id>` and `/countersign deny <id> [reason]` answer a question of a run's",
  "- `/countersign help` shows this",
];

const asksForHelp: readonly DeliveryCode[] = ["help", "command_unknown", "command_later"];

/** The answer as a comment, from codes alone: nothing of the comment that it answers is in it. */
export function answerText({ code, runId, commandCount, id }: Redacted<AnswerFacts>): string {
  const known = told[code];
  const lines = [
    known === undefined
      ? "**Countersign** takes these commands:"
      : `**Countersign** ${code.startsWith("approval_") ? "changed" : "started"} nothing: ${known.cause}.`,
    ...(known === undefined ? [] : ["", `What to do: ${known.remedy}.`]),
    ...(runId === null ? [] : ["", `The run is ${ownInCode(runId)}: ${ownInCode(`countersign runs show ${runId}`)}`]),
    ...(code === "explain_on_command_line" && id !== null ? ["", ownInCode(`countersign policy explain ${id}`)] : []),
    ...(asksForHelp.includes(code) ? ["", ...commands] : []),
    ...(commandCount > 1 ? ["", `The comment holds ${commandCount} commands; the first one counts.`] : []),
  ];
  return lines.join("\n");
}
