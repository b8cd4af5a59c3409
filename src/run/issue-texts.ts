import { type RemovedCounts, type UnreadableText, type UntrustedText, untrusted } from "../agent/index.ts";
import { CountersignError } from "../domain/index.ts";

/** What the model is to work on: the texts as they were at the trigger, of each author apart. */
export type IssueTexts = {
  readonly title: UntrustedText;
  readonly body: UntrustedText;
  /** What the person wrote who asked for the run by a comment; null where nothing was written. */
  readonly request: UntrustedText | null;
};

type Author = { readonly authorId: string | null; readonly authorCanWrite: boolean };
type Written = { readonly text: string; readonly author: Author };

/** An issue as people wrote it. `host` is the repository's (SEC-12). */
export type WrittenIssue = {
  readonly title: Written;
  readonly body: Written;
  readonly request: Written | null;
  readonly host: string | null;
};

export type IssueReading = { readonly kind: "readable"; readonly issue: IssueTexts } | UnreadableText;

/** The visible texts of an issue, or which of them can't be shown safely, and why (SEC-12 to SEC-14). */
export function readIssue({ title, body, request, host }: WrittenIssue): IssueReading {
  const read = (kind: "issue_title" | "issue_body" | "comment", { text, author }: Written) =>
    untrusted(text, { kind, host, ...author });
  const texts = {
    title: read("issue_title", title),
    body: read("issue_body", body),
    request: request === null ? null : read("comment", request),
  };
  if (texts.title.kind === "unreadable") return texts.title;
  if (texts.body.kind === "unreadable") return texts.body;
  if (texts.request?.kind === "unreadable") return texts.request;
  return { kind: "readable", issue: { title: texts.title, body: texts.body, request: texts.request } };
}

const names = { issue_title: "title of the issue", issue_body: "text of the issue", comment: "comment that asks" };

/** The refusal as the end of a run, told to whoever asked. */
export function unsafeIssue({ origin, cause }: UnreadableText): CountersignError {
  return new CountersignError("ISSUE_UNSAFE", `the ${names[origin.kind]} ${cause}`);
}

/** What was taken out of all its texts, by kind (SEC-15). */
export function removedOf({ title, body, request }: IssueTexts): RemovedCounts {
  const sum: Record<string, number> = {};
  for (const { removed } of [title, body, ...(request === null ? [] : [request])]) {
    for (const [kind, count] of Object.entries(removed)) sum[kind] = (sum[kind] ?? 0) + count;
  }
  return sum;
}
