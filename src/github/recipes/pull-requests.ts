import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import type { PullRequestFacts } from "../facts.ts";
import { halfDone, isRefused } from "../failure.ts";
import type { WriteContext, WriteRow } from "../write-row.ts";
import type { OpenPullRequest, UpdatePullRequest } from "../writes.ts";
import { isSameText, notOurs, outdated, ownMarkers, revisionOf, withMarkers, withoutMarkers } from "./marked.ts";

const resultOf = (facts: PullRequestFacts, isConfirmed: boolean): JsonObject => ({
  pull_request: facts.number,
  id: facts.id,
  url: facts.url,
  branch: facts.headBranch,
  base: facts.baseBranch,
  head_sha: facts.headSha,
  draft: facts.isDraft,
  open: facts.isOpen,
  files: facts.changedFiles,
  confirmed: isConfirmed,
});

async function readBack(context: WriteContext, sent: PullRequestFacts, signal: AbortSignal): Promise<JsonObject> {
  try {
    return resultOf(await context.reader.pullRequest(sent.number, signal), true);
  } catch {
    return resultOf(sent, false);
  }
}

/** The pull request of the head that our App opened, of any state (GH-85), and how many were listed, all or not (GH-25). */
async function findOwn(context: WriteContext, branch: string, signal: AbortSignal) {
  const { items, isComplete } = await context.reader.pullRequestsByHead(branch, signal);
  for (const facts of items)
    if ((await ownMarkers(context, { authorId: facts.authorId, body: facts.body }, signal)) !== null)
      return { own: facts, count: items.length, isComplete };
  return { own: null, count: items.length, isComplete };
}

export const openPullRequest: WriteRow<OpenPullRequest> = {
  naturalKey: ({ branch, base }) => `pull request of heads/${branch} into ${base}`,
  precondition: "the head branch stands on GitHub and has no open pull request",
  recipe:
    "list the pull requests of the head in all states: one of our App with a valid marker, applied; none, not applied; else inconclusive",
  permissions: { pull_requests: "write", contents: "read" },
  send: async (context, write, signal) => {
    const { title, branch, base, draft } = write;
    const body = withMarkers(context, write.body, [{ id: write.actionId, revision: null }]);
    try {
      const parameters = { title, head: branch, base, body, draft };
      const sent = await context.send({ method: "POST", route: "/pulls", parameters }, shapes.PullRequest, signal);
      return await readBack(context, sent, signal);
    } catch (error) {
      if (!isRefused(error) || error.details["reason"] !== "exists") throw error;
      const { own } = await findOwn(context, branch, signal);
      if (own === null) throw notOurs("pull request of this branch");
      return await readBack(context, own, signal);
    }
  },
  look: async (context, { branch }, _since, signal) => {
    const { own, count, isComplete } = await findOwn(context, branch, signal);
    const saw = { branch, pull_requests: count, own: own?.number ?? null };
    if (own !== null) return { kind: "applied", result: await readBack(context, own, signal), saw };
    return { kind: count === 0 && isComplete ? "not_applied" : "inconclusive", saw };
  },
};

type Present = z.infer<typeof shapes.PullRequest>;

const readPresent = (context: WriteContext, pullRequest: number, signal: AbortSignal): Promise<Present> =>
  context.read("/pulls/{pull_number}", { pull_number: pullRequest }, shapes.PullRequest, signal);

/** The answer names the mutation; a refusal has no data and is unreadable, so that GitHub is looked at. */
const Drafted = z.object({
  data: z.record(z.string(), z.object({ pullRequest: z.object({ isDraft: z.boolean() }) })),
});

/** REST can't turn a draft into a ready pull request or back; GraphQL can ("markPullRequestReadyForReview"). */
async function setDraft(context: WriteContext, nodeId: string, draft: boolean, signal: AbortSignal): Promise<void> {
  const mutation = draft ? "convertPullRequestToDraft" : "markPullRequestReadyForReview";
  const query = `mutation($id: ID!) { ${mutation}(input: { pullRequestId: $id }) { pullRequest { isDraft } } }`;
  const request = {
    method: "POST",
    route: context.graphqlUrl,
    parameters: { query, variables: { id: nodeId } },
  } as const;
  await context.send(request, Drafted, signal);
}

const wantedBody = (context: WriteContext, write: UpdatePullRequest, present: string, first: string): string =>
  withMarkers(context, write.body ?? withoutMarkers(present), [
    { id: first, revision: null },
    { id: write.actionId, revision: write.revision },
  ]);

export const updatePullRequest: WriteRow<UpdatePullRequest> = {
  naturalKey: ({ pullRequest, revision }) => `pull request ${pullRequest} revision ${revision}`,
  precondition: "the pull request is our App's and its body ends with a marker of ours of an earlier revision",
  recipe: "read it: our revision and texts, applied; an earlier revision, not applied; else inconclusive",
  permissions: { pull_requests: "write" },
  send: async (context, write, signal) => {
    const present = await readPresent(context, write.pullRequest, signal);
    const markers = await ownMarkers(context, present, signal);
    if (markers === null) throw notOurs("pull request");
    if (revisionOf(markers) > write.revision) throw outdated("pull request", revisionOf(markers));
    const isDraftToChange = write.draft !== undefined && write.draft !== present.isDraft && present.nodeId !== null;
    if (isDraftToChange) await setDraft(context, present.nodeId, write.draft, signal);
    const body = wantedBody(context, write, present.body, markers.first.id);
    const title = write.title === undefined ? {} : { title: write.title };
    const parameters = { pull_number: write.pullRequest, body, ...title };
    const request = { method: "PATCH", route: "/pulls/{pull_number}", parameters } as const;
    try {
      return await readBack(context, await context.send(request, shapes.PullRequest, signal), signal);
    } catch (error) {
      throw isDraftToChange ? halfDone(error) : error;
    }
  },
  look: async (context, write, _since, signal) => {
    const present = await readPresent(context, write.pullRequest, signal);
    const markers = await ownMarkers(context, present, signal);
    const saw = { pull_request: write.pullRequest, revision: markers === null ? null : revisionOf(markers) };
    if (markers === null) return { kind: "inconclusive", saw };
    if (revisionOf(markers) < write.revision) return { kind: "not_applied", saw };
    const isApplied =
      isSameText(present.body, wantedBody(context, write, present.body, markers.first.id)) &&
      (write.title ?? present.title) === present.title &&
      (write.draft ?? present.isDraft) === present.isDraft;
    return isApplied ? { kind: "applied", result: resultOf(present, true), saw } : { kind: "inconclusive", saw };
  },
};
