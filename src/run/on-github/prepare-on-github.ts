import { type Conclusion, CountersignError, type ErrorCode } from "../../domain/index.ts";
import type { GithubReader, RepositoryFacts, RepositoryPlace } from "../../github/index.ts";
import type { BaseSource } from "../../workspace/index.ts";
import { removedOf, unsafeIssue } from "../issue-texts.ts";
import { limitsOf, openSession, readSettings } from "../open-session.ts";
import type { RunPhase } from "../run-deps.ts";
import { forbidTexts, recordBase } from "../run-record.ts";
import type { Session } from "../session.ts";
import { type GithubJob, runOf } from "./github-job.ts";
import type { GithubRunDeps, PublishingDeps } from "./github-run-deps.ts";
import { type Closed, closed } from "./last-gate.ts";

/** Where the work begins: the default branch and its commit as the API gives them (GH-87). */
export type GithubBase = { readonly branch: string; readonly sha: string };

export type PreparedOnGithub = { readonly session: Session; readonly base: GithubBase };

/** Above this GitHub's own figure is enough to refuse; what is in the tree is measured after the fetch (SEC-80). */
const kibibyte = 1024;

/**
 * Repository, base and settings, all asked for by id. A run that is taken up again keeps the base that it began with.
 * Throws `CountersignError` where the repository can't be worked on.
 */
export async function prepareOnGithub(
  deps: GithubRunDeps,
  job: GithubJob,
  onPhase: (phase: RunPhase) => void,
  signal: AbortSignal,
): Promise<PreparedOnGithub> {
  const { row, trigger, reader } = job;
  if (job.issue.kind === "unreadable") throw unsafeIssue(job.issue);
  const { issue } = job.issue;
  if (`${issue.title.text}${issue.body.text}${issue.request?.text ?? ""}`.trim() === "") {
    throw new CountersignError("ISSUE_EMPTY", "the issue has no text that is shown", {
      remedy: "write into the issue what is wrong and what is wanted, then ask again",
    });
  }
  const place = { installationId: trigger.installationId, repositoryId: trigger.repository.id };
  const known = row.base_sha === "" ? null : row.base_sha;
  const { base, source } = await findBase(deps, { place, reader, known }, signal);
  const { repository } = source;
  const opened = await deps.workspace.openBase(source, signal);
  const read = await readSettings(deps, opened.base);
  const run = runOf(job, base, limitsOf(read.settings));
  await recordBase(deps, {
    run,
    lease: job.lease,
    base,
    name: repository.name,
    hiddenRemoved: removedOf(issue),
    texts: forbidTexts(read.settings),
  });
  deps.onEvent({
    kind: "started",
    runId: run.runId,
    traceId: run.traceId,
    repository,
    baseSha: base.sha,
    uncommitted: [],
  });
  const session = await openSession(deps, {
    run,
    lease: job.lease,
    issue,
    requesterReference: job.requesterReference,
    base: opened.base,
    ...read,
    startedAtMs: job.startedAtMs,
    approvalChannel: "github",
    deliveryId: job.row.delivery_id,
    onPhase,
  });
  return { session, base };
}

/**
 * What the work begins from, and how it is fetched; `known`: the commit that it began from before. Throws `CountersignError`
 * where the repository can't be worked on.
 */
export async function findBase(
  deps: PublishingDeps,
  at: { readonly place: RepositoryPlace; readonly reader: GithubReader; readonly known: string | null },
  signal: AbortSignal,
): Promise<{ readonly base: GithubBase; readonly source: Extract<BaseSource, { readonly kind: "github" }> }> {
  const facts = await at.reader.repository(signal);
  refuseUnusable(deps, facts);
  const base = await baseOf(at, facts, signal);
  const access = await deps.github.gitAccess(at.place, facts, signal);
  const repository = { id: String(facts.id), name: facts.fullName };
  return { base, source: { kind: "github", ...access, commitSha: base.sha, repository } };
}

function refuseUnusable({ operator }: PublishingDeps, facts: RepositoryFacts): void {
  if (facts.isArchived) throw new CountersignError("GITHUB_ARCHIVED", "the repository is archived");
  if (facts.isDisabled) throw new CountersignError("GITHUB_FORBIDDEN", "the repository is disabled");
  if (facts.isFork && !operator.permittedForks.includes(facts.id)) {
    throw new CountersignError("GITHUB_FORBIDDEN", "the repository is a fork that the operator does not list", {
      remedy: "list its numeric id under `permitted_forks` in `operator.json`",
    });
  }
  const { totalBytes } = operator.tree;
  if (facts.sizeKb * kibibyte <= totalBytes) return;
  throw new CountersignError(
    "TREE_TOO_LARGE",
    `the repository has ${facts.sizeKb} KiB, at most ${totalBytes / kibibyte} are taken`,
  );
}

async function baseOf(
  { known, reader }: { readonly known: string | null; readonly reader: GithubReader },
  { defaultBranch: branch }: RepositoryFacts,
  signal: AbortSignal,
): Promise<GithubBase> {
  if (known !== null) return { branch, sha: known };
  const head = await reader.branch(branch, signal);
  if (head !== null) return { branch, sha: head.sha };
  throw new CountersignError("GITHUB_EMPTY", "the repository has no commit on its default branch");
}

/** A failure before any work as the end of a run: what a person can mend is theirs, a place that is gone ends the run. */
export function closedByError(error: CountersignError): Closed {
  const cause = error.code === "GITHUB_EMPTY" ? "the repository has no commit yet" : error.message;
  return closed(conclusionOfCode(error), cause, error.remedy);
}

const gone: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["GITHUB_NOT_FOUND", "GITHUB_GONE"]);

function conclusionOfCode({ code, retryable }: CountersignError): Conclusion {
  if (gone.has(code)) return "cancelled";
  return retryable || code === "GIT_FAILED" ? "failure" : "action_required";
}
