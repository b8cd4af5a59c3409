import type { Workspace } from "../workspace/index.ts";
import type { ActionContext, GithubContext } from "./action-description.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import { workspaceOf } from "./facts.ts";
import type { ParsedAction } from "./parse.ts";
import type { RunContext } from "./run-context.ts";

/** The hands for one authorized action: those of its place, and no others. */
export function contextOf(run: RunContext, authorized: AuthorizedAction): ActionContext | GithubContext {
  const { parsed } = authorized;
  return parsed.action.place === "github" ? githubContext(run, parsed) : checkoutContext(run, authorized);
}

/** Throws a plain `Error` where the run has no GitHub: to propose such an action then is a bug. */
export function githubContext(run: RunContext, { proposed }: Pick<ParsedAction, "proposed">): GithubContext {
  if (run.github === null) throw new Error(`${proposed.tool} was proposed for a run without a GitHub`);
  return {
    writer: run.github,
    runId: run.runId,
    actionId: proposed.actionId,
    changeSet: run.publishing?.changeSet ?? null,
  };
}

function checkoutContext(run: RunContext, authorized: AuthorizedAction): ActionContext {
  const { facts, parsed } = authorized;
  return {
    workspace: pinned(workspaceOf(run), authorized),
    fingerprints: run.fingerprints,
    pages: run.pages,
    paths: facts.paths,
    settings: run.settings,
    turn: parsed.proposed.call?.turn ?? 0,
    actionId: parsed.proposed.actionId,
    leftMs: run.budgetLeft().seconds * 1000,
  };
}

/** The hands, with each decided path leading where it led at the decision: a link changed since then leads nowhere else. */
function pinned(workspace: Workspace, { facts }: AuthorizedAction): Workspace {
  const places = new Map(facts.paths.map(({ kind: _effect, ...place }) => [place.requested, place]));
  const resolve: Workspace["resolve"] = (path) => {
    const place = places.get(path);
    return place === undefined ? workspace.resolve(path) : Promise.resolve({ kind: "inside", ...place });
  };
  return { ...workspace, resolve };
}
