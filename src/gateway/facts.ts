import type { Effect, PathFact, Refusal, Risk } from "../domain/index.ts";
import type { AuthorizationRequest } from "../policy/index.ts";
import { riskOf } from "../policy/index.ts";
import type { ParsedAction } from "./parse.ts";
import { outsideWorkspace } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";

/** What is known of the world before the decision: taken once for it, and again for an approved action. */
export type Facts = { readonly kind: "facts"; readonly paths: readonly PathFact[]; readonly risk: Risk };

type PathEffect = Extract<Effect, { readonly path: string }>;
const hasPath = (effect: Effect): effect is PathEffect => "path" in effect;

/** Resolves each named path in the checkout (AUD-22). A path that leads outside is a refusal, not a decision. */
export async function takeFacts(
  run: RunContext,
  parsed: ParsedAction,
): Promise<Facts | { readonly kind: "refused"; readonly refusal: Refusal }> {
  const paths: PathFact[] = [];
  for (const effect of parsed.action.effects(parsed.arguments).filter(hasPath)) {
    const place = await run.workspace.resolve(effect.path);
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

/** One request for each resource that the action names; an action without a path has one (AUD-21). */
export function toRequests(
  run: RunContext,
  parsed: ParsedAction,
  facts: Facts,
  approved: boolean,
): readonly AuthorizationRequest[] {
  const request = (path: PathFact | null): AuthorizationRequest => ({
    principal: parsed.proposed.principal,
    requestedBy: run.requester,
    tool: parsed.action.name,
    group: parsed.action.group,
    risk: facts.risk,
    repository: run.repository,
    runId: run.runId,
    approved,
    runState: run.runState(),
    attempt: run.attempt,
    budgetLeft: run.budgetLeft(),
    effects: parsed.action.effects(parsed.arguments).map((effect) => effect.kind),
    path,
    input: parsed.arguments,
  });
  return facts.paths.length === 0 ? [request(null)] : facts.paths.map(request);
}
