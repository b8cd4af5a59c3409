import { CountersignError, isCountersignError } from "../../domain/index.ts";
import { checkPermissions, type GithubReader, type RepositoryName, type RepositoryPlace } from "../../github/index.ts";
import { deciderOf } from "../decide-paths.ts";
import { type Judged, runHere } from "../local-run.ts";
import type { LocalRequest, RunEvent } from "../run-deps.ts";
import { recordPhase } from "../run-record.ts";
import type { RunReport } from "../run-report.ts";
import type { Session } from "../session.ts";
import type { Verdict } from "../settle.ts";
import { withUnknown } from "./end.ts";
import { branchOf, hostContext } from "./github-job.ts";
import type { PublishingDeps } from "./github-run-deps.ts";
import { type Closed, closed, placeGate } from "./last-gate.ts";
import { findBase, type GithubBase } from "./prepare-on-github.ts";
import { type Asked, isWorthPublishing, publicationOf } from "./publication.ts";
import { type Publisher, publish } from "./publish.ts";

/** What the person at the terminal asks for: a repository on GitHub, an issue that is a file, and a pull request. */
export type PullRequestRequest = Omit<LocalRequest, "source"> & {
  readonly repository: RepositoryName;
  /** SHA-256, lower-case hex, of the issue's file. */
  readonly textDigest: string;
};

/**
 * The whole job as `runLocally` does it, on a repository on GitHub, and a pull request of what came of it: ready where it was
 * verified, else a draft. What the model did not finish is kept as a patch and never published. Before anything is begun it
 * throws the `GITHUB_` codes of a repository that the App can't reach or that can't be worked on.
 */
export async function runForPullRequest(
  deps: PublishingDeps,
  request: PullRequestRequest,
  signal: AbortSignal,
): Promise<RunReport> {
  signal.throwIfAborted();
  const askedAt = new Date(deps.clock()).toISOString();
  const place = await findPlace(deps, request.repository, signal);
  const reader = deps.github.reader(place);
  const { base, source } = await findBase(deps, { place, reader, known: null }, signal);
  const { issue, requester, textDigest } = request;
  const asked = { issue: null, requester, event: "countersign run --open-pr", askedAt, textDigest };
  const target = { place, reader, base, asked, stop: signal };
  return runHere(
    deps,
    { source, issue, requester },
    (session, judged, lost) => publishJudged(deps, target, { session, ...judged }, lost),
    signal,
  );
}

/** By name this once; all else is asked for by number (GH-120). */
async function findPlace(
  { github }: PublishingDeps,
  repository: RepositoryName,
  signal: AbortSignal,
): Promise<RepositoryPlace> {
  const name = `${repository.owner}/${repository.name}`;
  const { place, installation } = await github.locate(repository, signal).catch((error: unknown) => {
    if (!isCountersignError(error, "GITHUB_NOT_FOUND")) throw error;
    throw new CountersignError("GITHUB_NOT_FOUND", `the App is not installed on \`${name}\`, or it does not exist`, {
      cause: error,
    });
  });
  const { missing } = checkPermissions(installation.permissions);
  if (missing.length === 0) return place;
  const lacks = missing.map(({ permission, needed }) => `${permission}: ${needed}`).join(", ");
  throw new CountersignError("GITHUB_FORBIDDEN", `the App's installation on \`${name}\` lacks ${lacks}`);
}

/** Where the pull request is to go, and what it says of the request. */
type Target = {
  readonly place: RepositoryPlace;
  readonly reader: GithubReader;
  readonly base: GithubBase;
  readonly asked: Asked;
  /** Heeded until the first write: from then on the few that follow are made. */
  readonly stop: AbortSignal;
};
type Ended = Judged & { readonly session: Session };
type Outcome = { readonly verdict: Verdict; readonly pullRequest: RunReport["pullRequest"] };

async function publishJudged(deps: PublishingDeps, target: Target, ended: Ended, lost: AbortSignal): Promise<Outcome> {
  const { session, verdict, result } = ended;
  if (!isWorthPublishing(result, verdict)) return { verdict, pullRequest: null };
  session.onPhase("publish");
  await recordPhase(deps, session.run, session.lease, "publish");
  const gate = await placeGate(target, target.base, lost);
  if (gate.kind === "closed") return unpublished(verdict, gate);
  if (target.stop.aborted) return unpublished(verdict, stopped);
  const publisher = await publisherOf(deps, session, target.place);
  const ready = { session, base: target.base, behindBy: gate.behindBy, result, verdict };
  const publication = await publicationOf(deps, target.asked, ready);
  const onEvent = (event: RunEvent): void => {
    if (event.kind === "action") session.outcomes.push(event.outcome);
    deps.onEvent(event);
  };
  const published = await publish({ ...deps, onEvent }, publisher, publication, lost);
  if (published.kind === "waiting") throw new Error("a write of the host's own waits for an approval at the terminal");
  if (published.kind === "closed") {
    if (published.remedy !== "") deps.onEvent({ kind: "notice", text: `what to do: ${published.remedy}` });
    return unpublished(verdict, published);
  }
  return { verdict: await withUnknown(deps, publisher, verdict), pullRequest: published.pullRequest };
}

const stopped = closed("cancelled", "the run was stopped before anything was published", "");

const unpublished = (verdict: Verdict, { conclusion, cause }: Closed): Outcome => ({
  verdict: { ...verdict, conclusion, cause },
  pullRequest: null,
});

/** What a person at the terminal allowed may be pushed as well: its content is unchanged since (AUD-21). What else needs a yes is asked there. */
async function publisherOf(deps: PublishingDeps, session: Session, place: RepositoryPlace): Promise<Publisher> {
  const { runId, traceId, attempt, lease, requester, requesterReference, repository } = session.context;
  const branch = branchOf(0, runId);
  const known = { runId, traceId, attempt, lease, requester, requesterReference, repository };
  const context = await hostContext(deps, { ...known, writer: deps.github.writer(place), branch });
  const { approvalChannel } = session.context;
  return { branch, context: { ...context, isPathApproved: deciderOf(session).isApproved, approvalChannel } };
}
