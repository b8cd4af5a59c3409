import type { JsonObject } from "../../domain/index.ts";
import type { ParsedCommit } from "./commit-object.ts";
import { appView, nodeId, pageUrl, repositoryUrl, repositoryView } from "./views.ts";
import { isPull } from "./views-pull.ts";
import type { CheckRun, CheckSuite, Repository, World } from "./world.ts";

/** Pull requests whose head a check stands on. */
function pullsView(world: World, repository: Repository, headSha: string): JsonObject[] {
  const repo = { id: repository.id, url: repositoryUrl(world, repository), name: repository.name };
  return [...repository.items.values()]
    .filter(isPull)
    .filter((item) => item.pull.headSha === headSha && item.state === "open")
    .map(({ number, pull }) => ({
      url: `${repositoryUrl(world, repository)}/pulls/${number}`,
      id: pull.id,
      number,
      head: { ref: pull.head ?? "", sha: pull.headSha, repo },
      base: { ref: pull.base, sha: pull.baseSha, repo },
    }));
}

export function checkRunView(world: World, repository: Repository, run: CheckRun): JsonObject {
  const url = `${repositoryUrl(world, repository)}/check-runs/${run.id}`;
  const html = `${pageUrl(world, repository)}/runs/${run.id}`;
  return {
    id: run.id,
    name: run.name,
    node_id: nodeId("CR", run.id),
    head_sha: run.headSha,
    external_id: run.externalId,
    url,
    html_url: html,
    details_url: run.detailsUrl ?? html,
    status: run.status,
    conclusion: run.conclusion,
    started_at: run.startedAt,
    completed_at: run.completedAt,
    output: { ...run.output, annotations_count: 0, annotations_url: `${url}/annotations` },
    check_suite: { id: run.suiteId },
    app: appView(world),
    pull_requests: pullsView(world, repository, run.headSha),
  };
}

/** A check run in a payload: with its suite, and its buttons if it has any. */
export function checkRunPayload(world: World, repository: Repository, run: CheckRun): JsonObject {
  const suite = repository.checkSuites.get(run.suiteId);
  return {
    ...checkRunView(world, repository, run),
    ...(suite === undefined ? {} : { check_suite: suiteInRun(world, repository, suite) }),
    ...(run.actions.length === 0 ? {} : { actions: run.actions }),
  };
}

const runsOf = (repository: Repository, suite: CheckSuite): readonly CheckRun[] =>
  [...repository.checkRuns.values()].filter((run) => run.suiteId === suite.id);

function suiteState(repository: Repository, suite: CheckSuite): JsonObject {
  const runs = runsOf(repository, suite);
  const isDone = runs.length > 0 && runs.every((run) => run.status === "completed");
  const worst = runs.find((run) => run.conclusion !== "success")?.conclusion ?? "success";
  return { status: isDone ? "completed" : "queued", conclusion: isDone ? worst : null };
}

function suiteInRun(world: World, repository: Repository, suite: CheckSuite): JsonObject {
  return {
    id: suite.id,
    node_id: nodeId("CS", suite.id),
    head_branch: suite.headBranch,
    head_sha: suite.headSha,
    ...suiteState(repository, suite),
    url: `${repositoryUrl(world, repository)}/check-suites/${suite.id}`,
    before: null,
    after: suite.headSha,
    pull_requests: pullsView(world, repository, suite.headSha),
    app: appView(world),
    created_at: suite.createdAt,
    updated_at: suite.createdAt,
  };
}

/** `commit` is the suite's head. */
export function checkSuitePayload(
  world: World,
  repository: Repository,
  suite: CheckSuite,
  commit: ParsedCommit,
): JsonObject {
  const inRun = suiteInRun(world, repository, suite);
  return {
    ...inRun,
    latest_check_runs_count: runsOf(repository, suite).length,
    check_runs_url: `${repositoryUrl(world, repository)}/check-suites/${suite.id}/check-runs`,
    head_commit: {
      id: commit.sha,
      tree_id: commit.tree,
      message: commit.message,
      timestamp: commit.committer.date,
      author: { name: commit.author.name, email: commit.author.email },
      committer: { name: commit.committer.name, email: commit.committer.email },
    },
  };
}

export const checkSuiteView = (
  world: World,
  repository: Repository,
  suite: CheckSuite,
  commit: ParsedCommit,
): JsonObject => ({
  ...checkSuitePayload(world, repository, suite, commit),
  repository: repositoryView(world, repository),
});
