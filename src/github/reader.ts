import { z } from "zod";
import { CountersignError, isCountersignError, type ReactionTarget } from "../domain/index.ts";
import * as shapes from "./answers.ts";
import { type ApiRequest, requestIdOf } from "./exchange.ts";
import type { ComparisonFacts, Listed, RepositoryPlace } from "./facts.ts";
import type { GithubReader } from "./github.ts";
import { type Answer, type Credential, type ReadDeps, readAnswer, type Shape } from "./read.ts";

/** One read of a repository: `path` follows `/repositories/{repository_id}`. */
export type Read = <Data>(
  path: string,
  parameters: Parameters,
  shape: Shape<Data>,
  signal: AbortSignal,
) => Promise<Data>;
/** The same, with the headers of the answer. */
type Ask = <Data>(
  path: string,
  parameters: Parameters,
  shape: Shape<Data>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;
type Parameters = Readonly<Record<string, unknown>>;
type ListRead = <Item>(
  path: string,
  parameters: Parameters,
  shape: Shape<readonly Item[]>,
  signal: AbortSignal,
) => Promise<Listed<Item>>;

/** Every request of a repository goes by its number, so that a rename is followed and a stranger never met (GH-120). */
export const inRepository = (place: RepositoryPlace, { method, route, parameters }: ApiRequest): ApiRequest => ({
  method,
  route: `/repositories/{repository_id}${route}`,
  parameters: { ...parameters, repository_id: place.repositoryId },
});

/** Stated cap of a list: 30 pages of 100 (GH-25). */
const pagesMost = 30;
const pageSize = 100;

export function createRead(
  deps: ReadDeps,
  place: RepositoryPlace,
  credential: Credential,
): { ask: Ask; read: Read; list: ListRead } {
  const ask: Ask = (path, parameters, shape, signal) => {
    const isFinal = path.startsWith("/issues/{issue_number}") ? ({ isFinal: true } as const) : {};
    const request = { ...inRepository(place, { method: "GET", route: path, parameters }), ...isFinal };
    return readAnswer(deps, { request, credential }, shape, signal);
  };
  return {
    ask,
    read: async (path, parameters, shape, signal) => (await ask(path, parameters, shape, signal)).data,
    list: async <Item>(path: string, parameters: Parameters, shape: Shape<readonly Item[]>, signal: AbortSignal) => {
      const items: Item[] = [];
      for (let page = 1; page <= pagesMost; page += 1) {
        const paged = { ...parameters, per_page: pageSize, page };
        const { data, headers } = await ask(path, paged, shape, signal);
        items.push(...data);
        if (!/rel="?next"?/.test(String(headers["link"] ?? ""))) return { items, isComplete: true };
      }
      return { items, isComplete: false };
    },
  };
}

/** Where the reactions of a thing are. */
export function reactionsOf(target: ReactionTarget): { readonly path: string; readonly parameters: Parameters } {
  if (target.kind === "issue")
    return { path: "/issues/{issue_number}/reactions", parameters: { issue_number: target.issue } };
  const kind = target.kind === "issue_comment" ? "issues" : "pulls";
  return { path: `/${kind}/comments/{comment_id}/reactions`, parameters: { comment_id: target.comment } };
}

const CheckRuns = z.object({ check_runs: z.array(shapes.CheckRun) }).transform((read) => read.check_runs);

const orNull = async <Data>(reading: Promise<Data>): Promise<Data | null> => {
  try {
    return await reading;
  } catch (error) {
    if (isCountersignError(error, "GITHUB_NOT_FOUND")) return null;
    throw error;
  }
};

async function compare(read: Read, basehead: string, signal: AbortSignal): Promise<ComparisonFacts> {
  try {
    return await read("/compare/{basehead}", { basehead, per_page: 1 }, shapes.Comparison, signal);
  } catch (error) {
    // GitHub says 404 of two histories that share no commit, as after a rewrite from the root.
    if (!isCountersignError(error, "GITHUB_NOT_FOUND") || error.details["reason"] !== "unrelated") throw error;
    return { status: "diverged", aheadBy: 0, behindBy: 0 };
  }
}

/** The reads of one repository, with a credential that only reads. */
export function createReader({ ask, read, list }: ReturnType<typeof createRead>, place: RepositoryPlace): GithubReader {
  const reader: GithubReader = {
    repository: async (signal) => {
      const facts = await read("", {}, shapes.Repository, signal);
      if (facts.id === place.repositoryId) return facts;
      throw new CountersignError("GITHUB_NOT_FOUND", "GitHub answered with another repository than was asked for", {
        details: { asked: place.repositoryId, got: facts.id },
      });
    },
    branch: async (name, signal) => {
      const ref = await orNull(read("/git/ref/{ref}", { ref: `heads/${name}` }, shapes.Ref, signal));
      return ref === null ? null : { sha: ref.object.sha };
    },
    commit: (sha, signal) => read("/git/commits/{commit_sha}", { commit_sha: sha }, shapes.Commit, signal),
    compare: (base, head, signal) => compare(read, `${base}...${head}`, signal),
    issue: (number, signal) => read("/issues/{issue_number}", { issue_number: number }, shapes.Issue, signal),
    permission: async (login, signal) => {
      const path = "/collaborators/{username}/permission";
      const { data, headers } = await ask(path, { username: login }, shapes.PermissionAnswer, signal);
      return { ...data, requestId: requestIdOf({ headers }) };
    },
    pullRequest: (number, signal) => read("/pulls/{pull_number}", { pull_number: number }, shapes.PullRequest, signal),
    pullRequestsByHead: async (branch, signal) => {
      const { owner } = await reader.repository(signal);
      const found = await list(
        "/pulls",
        { head: `${owner}:${branch}`, state: "all" },
        z.array(shapes.PullRequest),
        signal,
      );
      const isSame = (head: { headBranch: string; headRepositoryId: number | null }): boolean =>
        head.headBranch === branch && head.headRepositoryId === place.repositoryId;
      return { items: found.items.filter(isSame), isComplete: found.isComplete };
    },
    comments: (number, sinceIso, signal) =>
      list(
        "/issues/{issue_number}/comments",
        { issue_number: number, ...(sinceIso === null ? {} : { since: sinceIso }) },
        z.array(shapes.Comment),
        signal,
      ),
    comment: (id, signal) => orNull(read("/issues/comments/{comment_id}", { comment_id: id }, shapes.Comment, signal)),
    checkRuns: (sha, signal) => list("/commits/{ref}/check-runs", { ref: sha, filter: "all" }, CheckRuns, signal),
    reactions: (target, signal) => {
      const { path, parameters } = reactionsOf(target);
      return list(path, parameters, z.array(shapes.Reaction), signal);
    },
  };
  return reader;
}
