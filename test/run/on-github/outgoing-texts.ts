import { createRedactor, redactTexts } from "../../../src/domain/index.ts";
import { type AnswerFacts, answerText as answer } from "../../../src/run/on-github/answer-text.ts";
import { checkText as check } from "../../../src/run/on-github/check-text.ts";
import { inCode as code } from "../../../src/run/on-github/markdown.ts";
import { type NotDone, notDoneText as notDone } from "../../../src/run/on-github/not-done.ts";
import {
  commitMessage as message,
  type PullRequestTextFacts,
  pullRequestText as pullRequest,
  pullRequestTitle as title,
} from "../../../src/run/on-github/pull-request-text.ts";
import { type StatusFacts, statusText as status } from "../../../src/run/on-github/status-text.ts";

const { redact } = createRedactor([]);

// What is written to GitHub, of facts that hold no live secret.
export const answerText = (facts: AnswerFacts) => answer(redactTexts(redact, facts));
export const checkText = (facts: PullRequestTextFacts) => check(redactTexts(redact, facts));
export const commitMessage = (
  facts: Pick<PullRequestTextFacts, "runId" | "traceId" | "issue" | "cause"> & { readonly title: string },
) => message(redactTexts(redact, facts));
export const inCode = (text: string) => code(redact(text));
export const notDoneText = (facts: NotDone) => notDone(redactTexts(redact, facts));
export const pullRequestText = (facts: PullRequestTextFacts) => pullRequest(redactTexts(redact, facts));
export const pullRequestTitle = (text: string, issue: number | null) => title(redact(text), issue);
export const statusText = (facts: StatusFacts) => status(redactTexts(redact, facts));
