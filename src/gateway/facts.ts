import type { Effect, PathFact, Refusal, Risk } from "../domain/index.ts";
import type { AuthorizationRequest } from "../policy/index.ts";
import { riskOf } from "../policy/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { ParsedAction } from "./parse.ts";
import { invalidArguments, outsideWorkspace } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";

/** What is known of the world before the decision: taken once for it, and again for an approved action. */
export type Facts = { readonly kind: "facts"; readonly paths: readonly PathFact[]; readonly risk: Risk };

type PathEffect = Extract<Effect, { readonly path: string }>;
const hasPath = (effect: Effect): effect is PathEffect => "path" in effect;
const pathEffects = ({ action, arguments: args }: ParsedAction): readonly PathEffect[] =>
  action.effects(args).filter(hasPath);

type Refused = { readonly kind: "refused"; readonly refusal: Refusal };

/** The checkout of a run whose action works in it. Throws a plain `Error`: such an action without a checkout is a bug. */
export function workspaceOf({ workspace }: RunContext): Workspace {
  if (workspace === null) throw new Error("an action in the checkout was proposed for a run without one");
  return workspace;
}

/** What the decision will rest on: where each named path leads. A path that leads outside is a refusal, not a decision. */
export function takeFacts(run: RunContext, parsed: ParsedAction): Promise<Facts | Refused> {
  return parsed.action.place === "github" ? Promise.resolve(factsOfTree(parsed)) : factsOfCheckout(run, parsed);
}

/** The paths of a tree that was read back are canonical and lead nowhere else: one that is not comes from elsewhere. */
function factsOfTree(parsed: ParsedAction): Facts | Refused {
  const paths: PathFact[] = [];
  for (const { path, kind, symlink = false } of pathEffects(parsed)) {
    if (!isCanonical(path)) {
      const expected = "the path of a file from the repository's root, with `/`, without `.`, `..`, NUL and backslash";
      return { kind: "refused", refusal: invalidArguments("changes.path", path, expected, null) };
    }
    paths.push({ requested: path, resolved: path, class: "file", symlink, kind });
  }
  return { kind: "facts", paths, risk: riskOf(parsed.action.risk, parsed.action.name, paths) };
}

const isCanonical = (path: string): boolean =>
  path.isWellFormed() &&
  !/[\0\\]/.test(path) &&
  path.split("/").every((name) => name !== "" && name !== "." && name !== "..");

/** Resolves each named path in the checkout (AUD-22). */
async function factsOfCheckout(run: RunContext, parsed: ParsedAction): Promise<Facts | Refused> {
  const paths: PathFact[] = [];
  for (const effect of pathEffects(parsed)) {
    const place = await workspaceOf(run).resolve(effect.path);
    const call = { tool: parsed.proposed.tool, arguments: parsed.arguments };
    if (place.kind === "outside") {
      return { kind: "refused", refusal: outsideWorkspace(call, effect.path, place.cause) };
    }
    // Bytes of a name that are no UTF-8 have no place in canonical JSON, and so none in a decision.
    if (!place.resolved.isWellFormed()) {
      const cause = "it leads through a name that is not UTF-8";
      return { kind: "refused", refusal: outsideWorkspace(call, effect.path, cause) };
    }
    const { requested, resolved, symlink } = place;
    paths.push({ requested, resolved, class: place.class, symlink, kind: effect.kind });
  }
  return { kind: "facts", paths, risk: riskOf(parsed.action.risk, parsed.action.name, paths) };
}

/**
 * One request for each resource that the action names (AUD-21); an action without a path, and a write to GitHub as a whole,
 * has one without a path. Each has the risk of its own path: what one file needs is not asked for another.
 */
export function toRequests(
  run: RunContext,
  parsed: ParsedAction,
  facts: Facts,
  approved: boolean,
): readonly AuthorizationRequest[] {
  const { action, arguments: args, proposed } = parsed;
  const isPublished = action.place === "github";
  const request = (path: PathFact | null): AuthorizationRequest => ({
    principal: proposed.principal,
    requestedBy: run.requester,
    tool: action.name,
    group: action.group,
    risk: riskOf(action.risk, action.name, path === null ? [] : [path]),
    repository: run.repository,
    runId: run.runId,
    approved: approved || isApprovedBefore(run, parsed, path),
    runState: run.runState(),
    attempt: run.attempt,
    budgetLeft: run.budgetLeft(),
    effects: [...new Set(action.effects(args).map((effect) => effect.kind))],
    path,
    input: action.policyInput?.(args, path) ?? args,
    ...(run.runBranch === null ? {} : { runBranch: run.runBranch, runRepositoryId: run.repository.id }),
  });
  const whole = isPublished || facts.paths.length === 0 ? [request(null)] : [];
  return [...whole, ...facts.paths.map(request)];
}

/** Nobody is asked twice for the same bytes (AUD-21): neither to publish a path, nor to install or run what a person let in. */
function isApprovedBefore(run: RunContext, { action }: ParsedAction, path: PathFact | null): boolean {
  if (action.name === "run_setup" || action.name === "run_verification") return run.isOwnCommandApproved === true;
  return action.place === "github" && path !== null && run.isPathApproved(path.resolved);
}
