import type { ChangeSet, Conclusion, JsonObject } from "../../domain/index.ts";
import type { RunContext } from "../../gateway/index.ts";
import type { RepositoryPolicies } from "../../policy/index.ts";
import { gateCause } from "../conclude.ts";
import { gateRemedy, passGate } from "../pass-gate.ts";
import type { RunDeps } from "../run-deps.ts";
import type { RunReport } from "../run-report.ts";
import type { Session } from "../session.ts";
import type { GithubJob } from "./github-job.ts";
import { type HostWrite, standingWrites, takeUpAsked, writeAsHost } from "./host-actions.ts";
import { type Closed, closed } from "./last-gate.ts";

/** All that is needed to publish one change set as one pull request. */
export type Publication = {
  /** Whose base and limits the commit gate goes by. */
  readonly session: Session;
  readonly changeSet: ChangeSet;
  /** Those of the base: every path is decided again (AUD-21). */
  readonly repositoryPolicies: RepositoryPolicies;
  readonly base: { readonly branch: string; readonly sha: string; readonly treeSha: string };
  readonly title: string;
  readonly message: string;
  readonly body: string;
  /** All words of others and of the host as they were: of them is made what is published, cut and broken apart. */
  readonly words: string;
  readonly draft: boolean;
  readonly conclusion: Conclusion;
  /** Of the check run. */
  readonly check: { readonly title: string; readonly summary: string };
  readonly diffStat: RunReport["diffStat"];
};

export type Published = { readonly kind: "published"; readonly pullRequest: NonNullable<RunReport["pullRequest"]> };

/** From where a run publishes: its branch, and what the gateway is to know of the host's own actions. */
export type Publisher = Pick<GithubJob, "branch" | "context">;

/** A person is asked about one of the writes: the same is published once there is an answer. */
export type AskedBefore = { readonly kind: "waiting" };

/** Closed with what stands on GitHub by then. */
export type Unpublished = Closed & { readonly branch: string | null };

/**
 * Commit, check run on it, pull request, once the commit gate let files and texts through: each an action through the gateway,
 * and each done once: what an earlier worker has brought to stand is taken from the record (GH-80, AUD-8).
 */
export async function publish(
  deps: RunDeps,
  job: Publisher,
  publication: Publication,
  signal: AbortSignal,
): Promise<Published | Unpublished | AskedBefore> {
  const { repositoryPolicies } = publication;
  const gate = await passGate(deps, publication.session, { ...publication, texts: textsOf(job, publication) });
  if (gate.kind === "refused") {
    return { ...closed("action_required", gateCause(gate.causes), gateRemedy), branch: null };
  }
  const context: RunContext = { ...job.context, repositoryPolicies, publishing: { changeSet: gate.changeSet } };
  const commit = await once(deps, context, "push_commit", () => pushArguments(job, publication), signal);
  if (commit.kind !== "done") return notPublished(commit, null);
  const headSha = textOf(commit.result, "commit_sha");
  await rememberHead(deps, job, headSha);

  // A check run that GitHub refuses keeps no pull request from being opened: reporting never decides (GH-46).
  await once(deps, context, "set_check_run", () => checkArguments(publication, headSha), signal);

  const opened = await once(deps, context, "open_pull_request", () => openArguments(job, publication), signal);
  if (opened.kind !== "done") return notPublished(opened, job.branch);
  const pullRequest = pullRequestOf(publication, opened.result);
  await rememberPullRequest(deps, job, pullRequest);
  return { kind: "published", pullRequest };
}

/** All that people read of it (SEC-97). */
const textsOf = ({ branch }: Publisher, { title, message, body, check, words }: Publication) => [
  { name: "the branch", text: branch },
  { name: "the title", text: title },
  { name: "the commit message", text: message },
  { name: "the body", text: body },
  { name: "the check run", text: `${check.title}\n${check.summary}` },
  { name: "the words of the pull request", text: words },
];

/** The write, unless the record shows that it stands. */
async function once(
  deps: RunDeps,
  context: RunContext,
  tool: string,
  toArguments: () => JsonObject,
  signal: AbortSignal,
): Promise<HostWrite | { readonly kind: "done"; readonly result: JsonObject }> {
  const result = (await standingWrites(deps, context, tool)).results.at(-1);
  if (result !== undefined) return { kind: "done", result };
  const asked = await takeUpAsked(deps, context, tool, signal);
  if (asked !== null) return asked;
  return writeAsHost(deps, context, { tool, args: toArguments() }, signal);
}

const pushArguments = ({ branch }: Publisher, { base, message, changeSet }: Publication): JsonObject => ({
  branch,
  expected_sha: null,
  parent_sha: base.sha,
  base_tree_sha: base.treeSha,
  message,
  changes: changeSet.changes.map(({ path, after }) => ({
    path,
    mode: after?.mode ?? null,
    blob_sha: after?.blobSha ?? null,
  })),
});

const checkArguments = ({ conclusion, check }: Publication, headSha: string): JsonObject => ({
  head_sha: headSha,
  status: "completed",
  conclusion,
  title: check.title,
  summary: check.summary,
  revision: 1,
});

const openArguments = ({ branch }: Publisher, { base, title, body, draft }: Publication): JsonObject => ({
  branch,
  base: base.branch,
  title,
  body,
  draft,
});

/** How a refused write ends the run: rules and rights are for a person, all else may be tried again (GH-88, GH-113). */
function notPublished(
  write: Exclude<HostWrite, { readonly kind: "done" }>,
  branch: string | null,
): Unpublished | AskedBefore {
  if (write.kind === "waiting") return { kind: "waiting" };
  const isHalted = write.kind === "not_done" && (write.code === "PAUSED" || write.code === "ABORTED");
  const isForPerson = write.kind === "unknown" || !retryable.has(write.code);
  const standing = branch === null ? "" : `; the branch \`${branch}\` stands`;
  const cause = `the change could not be published: ${write.reason}${standing}`;
  if (isHalted) return { ...closed("cancelled", cause, write.remedy), branch };
  return { ...closed(isForPerson ? "action_required" : "failure", cause, write.remedy), branch };
}

const retryable: ReadonlySet<string> = new Set(["GITHUB_UNAVAILABLE", "GITHUB_LIMITED", "GITHUB_ANSWER_UNREADABLE"]);

/** What the writer read back after the write (GH-90). */
function pullRequestOf(publication: Publication, opened: JsonObject): Published["pullRequest"] {
  return {
    number: Number(opened["pull_request"]),
    url: textOf(opened, "url"),
    headSha: textOf(opened, "head_sha"),
    diffStat: publication.diffStat,
    isDraft: opened["draft"] === true,
    isConfirmed: opened["confirmed"] === true,
  };
}

const textOf = (result: JsonObject, name: string): string => (typeof result[name] === "string" ? result[name] : "");

async function rememberHead(deps: RunDeps, { context, branch }: Publisher, headSha: string): Promise<void> {
  await deps.store.db
    .updateTable("runs")
    .set({ branch, head_sha: headSha })
    .where("run_id", "=", context.runId)
    .execute();
}

/** From here on the pull request is ours: by the store, not by any text in it. */
async function rememberPullRequest(
  deps: RunDeps,
  { context }: Publisher,
  { number, url, headSha }: { readonly number: number; readonly url: string; readonly headSha: string },
): Promise<void> {
  await deps.store.db
    .updateTable("runs")
    .set({ pull_request_number: number, pull_request_url: url, head_sha: headSha })
    .where("run_id", "=", context.runId)
    .execute();
}
