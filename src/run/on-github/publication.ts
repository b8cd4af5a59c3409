import { mapTexts, parseActionId, redactTexts } from "../../domain/index.ts";
import type { AuditedAction } from "../../ledger/index.ts";
import { adviceOf, type OpenedText, readActionTexts, showRun } from "../../ledger/index.ts";
import { removedOf } from "../issue-texts.ts";
import type { RunDeps } from "../run-deps.ts";
import type { Session } from "../session.ts";
import type { Result, Verdict } from "../settle.ts";
import { checkText } from "./check-text.ts";
import type { PublishingDeps } from "./github-run-deps.ts";
import { countByTool, type NotDone, wasDone } from "./not-done.ts";
import type { GithubBase } from "./prepare-on-github.ts";
import type { Publication } from "./publish.ts";
import { commitMessage, type PullRequestTextFacts, pullRequestText, pullRequestTitle } from "./pull-request-text.ts";

/** What was asked for, by whom and where, as the pull request tells it. */
export type Asked = Pick<PullRequestTextFacts, "issue" | "requester" | "event" | "askedAt" | "textDigest">;

/** Whether the model finished its work, and there is something of it that may leave: all else is kept as a patch (GH-92). */
export const isWorthPublishing = ({ end, readBack }: Result, { gateCauses }: Verdict): boolean =>
  end.stopReason === "finished" &&
  readBack.authorized.changes.length > 0 &&
  readBack.refusedCauses.length === 0 &&
  gateCauses.length === 0;

/** What is published of a result, in words and bytes. */
export async function publicationOf(
  deps: PublishingDeps,
  asked: Asked,
  ready: {
    readonly session: Session;
    readonly base: GithubBase;
    readonly behindBy: number;
    readonly result: Result;
    readonly verdict: Verdict;
  },
): Promise<Publication> {
  const { session, base, behindBy, result, verdict } = ready;
  const { runId, traceId } = session.run;
  const { authorized, leftOut, withheld } = result.readBack;
  const { verify, draft } = session.settings;
  const actions = (await showRun(deps.store, runId))?.actions ?? [];
  const checkpoint = await deps.ledger.head();
  const isVerified = verdict.conclusion === "success";
  const facts = {
    runId,
    traceId,
    ...asked,
    hiddenRemoved: removedOf(session.issue),
    isVerified,
    cause: verdict.cause,
    base,
    behindBy,
    changes: authorized.changes,
    diffStat: verdict.diffStat,
    tests: {
      command: verify?.run ?? null,
      derived: verify?.derived ?? false,
      before: result.before,
      after: result.after,
    },
    actions: countByTool(actions),
    notDone: await notDoneOf(deps, actions),
    leftOut,
    withheld,
    checkpoint,
    publicUrl: deps.publicUrl,
    title: result.end.title,
    summary: result.end.summary,
  };
  const told = redactTexts(deps.redactor.redact, facts);
  const title = pullRequestTitle(told.title, asked.issue);
  return {
    session,
    changeSet: authorized,
    repositoryPolicies: session.context.repositoryPolicies,
    base: { ...base, treeSha: session.base.treeSha },
    title,
    message: commitMessage(told),
    body: pullRequestText(told),
    words: textsIn(facts),
    draft: !isVerified || draft === "always",
    conclusion: verdict.conclusion,
    check: checkText(told),
    diffStat: verdict.diffStat,
  };
}

/** Each text of plain data on lines of its own. */
function textsIn(facts: object): string {
  const texts: string[] = [];
  mapTexts(facts, (text) => {
    texts.push(text);
    return text;
  });
  return texts.join("\n");
}

/** Actions of the run that were not done, with the path they were meant for; the host's reports on GitHub are not among them. */
export function notDoneOf(deps: RunDeps, actions: readonly AuditedAction[]): Promise<readonly NotDone[]> {
  const failed = actions.filter((action) => !wasDone(action) && action.event.actor !== "system");
  return Promise.all(
    failed.map(async ({ action_id, tool, event, policy_ids: policyIds }) => {
      const id = parseActionId(action_id);
      const texts = id === null ? [] : await readActionTexts(deps, id);
      return { tool, outcome: event.outcome, policyIds, advice: adviceFrom(texts), path: pathFrom(texts) };
    }),
  );
}

function adviceFrom(texts: readonly OpenedText[]): readonly string[] {
  const advice = texts.findLast(({ field }) => field === "advice");
  return advice === undefined ? [] : Object.values(adviceOf(advice));
}

function pathFrom(texts: readonly OpenedText[]): string | null {
  const text = texts.find(({ field }) => field === "arguments");
  if (text?.bytes == null) return null;
  const { path } = JSON.parse(new TextDecoder().decode(text.bytes)) as { readonly path?: unknown };
  return typeof path === "string" ? path : null;
}
