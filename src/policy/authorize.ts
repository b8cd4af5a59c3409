import { type AuthorizationAnswer, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import type { Clock, Decision, DecisionEffect, DecisionId, JsonObject } from "../domain/index.ts";
import type { AuthorizationRequest } from "./authorization-request.ts";
import { type CedarQuestion, toCedarQuestion } from "./cedar-call.ts";
import { sha256 } from "./digest.ts";
import { floorDenial, floorVersion } from "./floor.ts";
import { resolveNames } from "./fold-path.ts";
import { riskOf } from "./path-class.ts";

/** AUD-26: longer than this, and nothing is known about the evaluation. */
const evaluationLimitMs = 250;

export type AuthorizeDeps = {
  readonly clock: Clock;
  readonly newDecisionId: () => DecisionId;
  /** Cedar's evaluation, by the names under which schema and policies were compiled. */
  readonly evaluate: (question: CedarQuestion) => AuthorizationAnswer;
};

/** Facts about the compiled set, the same for each of its decisions. */
export type DecisionBasis = Pick<
  Decision,
  "policySetDigest" | "schemaDigest" | "repositoryPolicyDigest" | "engineVersion"
> & {
  readonly tools: ReadonlySet<string>;
  /** Advice of every policy that has some, by id. */
  readonly advice: ReadonlyMap<string, string>;
};

type Answer = {
  readonly effect: DecisionEffect;
  readonly policyIds: readonly string[];
  readonly advice: readonly (readonly [string, string])[];
  readonly errors: readonly string[];
  /** Whether a rule says no, and not merely none says yes. */
  readonly isForbidden: boolean;
  /** Empty where Cedar was not asked. */
  readonly entities: string;
};

/** Binds Cedar to a schema and a policy set that were compiled under these names. Each request is validated. */
export const cedarEvaluation = (schemaName: string, policySetId: string) => (question: CedarQuestion) =>
  statefulIsAuthorized({
    ...question,
    preparsedSchemaName: schemaName,
    preparsedPolicySetId: policySetId,
    validateRequest: true,
  });

/** The one decision on an action: every request is answered, and the strictest answer is the decision's. */
export function decide(deps: AuthorizeDeps, basis: DecisionBasis, requests: readonly AuthorizationRequest[]): Decision {
  const begin = deps.clock();
  const raised = requests.map(raiseRisk);
  const answers =
    raised.length === 0 ? [denied("default_deny")] : raised.map((request) => answer(deps, basis, request));
  const effect = strictest(answers);
  const deciding = answers.filter((item) => item.effect === effect);
  return {
    decisionId: deps.newDecisionId(),
    effect,
    policyIds: sorted(deciding.flatMap((item) => item.policyIds)),
    advice: Object.fromEntries(
      deciding.flatMap((item) => item.advice).sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
    errors: sorted(answers.flatMap((item) => item.errors)),
    requests: raised as readonly JsonObject[],
    policySetDigest: basis.policySetDigest,
    schemaDigest: basis.schemaDigest,
    entitiesDigest: sha256(answers.map((item) => item.entities).join("\n")),
    repositoryPolicyDigest: basis.repositoryPolicyDigest,
    engineVersion: basis.engineVersion,
    floorVersion,
    durationUs: Math.max(0, Math.round((deps.clock() - begin) * 1000)),
  };
}

const sorted = (ids: readonly string[]): readonly string[] => [...new Set(ids)].sort();

function strictest(answers: readonly Answer[]): DecisionEffect {
  if (answers.some((item) => item.effect === "deny")) return "deny";
  return answers.some((item) => item.effect === "require_approval") ? "require_approval" : "allow";
}

function raiseRisk(request: AuthorizationRequest): AuthorizationRequest {
  const risk = riskOf(request.risk, request.tool, request.path === null ? [] : [request.path]);
  return risk === request.risk ? request : { ...request, risk };
}

const denied = (policyId: string, errors: readonly string[] = [], entities = ""): Answer => ({
  effect: "deny",
  policyIds: [policyId],
  advice: [],
  errors,
  isForbidden: true,
  entities,
});

/** INVARIANT: no error, of whatever kind, ends in anything but a deny (test/policy/authorize.test.ts). */
function answer(deps: AuthorizeDeps, basis: DecisionBasis, request: AuthorizationRequest): Answer {
  try {
    const denial = floorDenial(request, basis.tools);
    if (denial !== null) {
      return { ...denied(denial.policyId), advice: [[denial.policyId, denial.advice]] };
    }
    const resolved = answerOfPolicies(deps, basis, toCedarQuestion(request));
    const requested = asRequested(request);
    if (requested === null) return resolved;
    return withRequested(resolved, answerOfPolicies(deps, basis, toCedarQuestion(requested)));
  } catch (error) {
    return denied("policy_error", [error instanceof Error ? error.message : "an unknown error"]);
  }
}

/** The request with the place that was asked for in the place of the one to which links lead; null where they are one. */
function asRequested(request: AuthorizationRequest): AuthorizationRequest | null {
  const { path } = request;
  if (path === null) return null;
  const names = (resolveNames(path.requested) ?? []).join("/");
  const resolved = names === "" ? "." : names;
  return resolved === path.resolved ? null : { ...request, path: { ...path, resolved } };
}

/** AUD-22: a forbid that matches either path holds. A permit has to match the place that is really meant. */
function withRequested(resolved: Answer, requested: Answer): Answer {
  const entities = `${resolved.entities}\n${requested.entities}`;
  const effect = strictest([resolved, requested]);
  if (!requested.isForbidden || requested.effect === "allow" || requested.effect !== effect)
    return { ...resolved, entities };
  if (resolved.effect !== effect) return { ...requested, entities };
  const both = resolved.isForbidden ? [resolved, requested] : [requested];
  return {
    ...requested,
    policyIds: sorted(both.flatMap(({ policyIds }) => policyIds)),
    advice: both.flatMap(({ advice }) => advice),
    errors: sorted(both.flatMap(({ errors }) => errors)),
    entities,
  };
}

function answerOfPolicies(deps: AuthorizeDeps, basis: DecisionBasis, question: CedarQuestion): Answer {
  const entities = JSON.stringify(question.entities);
  const asked = evaluate(deps, question);
  if (asked.kind === "failed") return denied("policy_error", asked.errors, entities);
  const withAdvice = (effect: DecisionEffect, reason: readonly string[]): Answer => ({
    effect,
    policyIds: reason.length === 0 ? ["default_deny"] : reason,
    advice: reason.flatMap((id) => {
      const text = basis.advice.get(id);
      return text === undefined ? [] : [[id, text] as const];
    }),
    errors: [],
    isForbidden: asked.decision === "deny" && asked.reason.length > 0,
    entities,
  });
  // INVARIANT: no allow without a permit that matched (test/policy/authorize.properties.test.ts)
  if (asked.decision === "allow") return withAdvice(asked.reason.length === 0 ? "deny" : "allow", asked.reason);
  const { approved } = question.context;
  if (approved === true) return withAdvice("deny", asked.reason);

  const ifApproved = evaluate(deps, { ...question, context: { ...question.context, approved: true } });
  if (ifApproved.kind === "failed") return denied("policy_error", ifApproved.errors, entities);
  if (ifApproved.decision === "deny" || ifApproved.reason.length === 0) return withAdvice("deny", asked.reason);
  return withAdvice("require_approval", asked.reason.length === 0 ? ifApproved.reason : asked.reason);
}

type Evaluated =
  | { readonly kind: "answered"; readonly decision: "allow" | "deny"; readonly reason: readonly string[] }
  | { readonly kind: "failed"; readonly errors: readonly string[] };

/** A failed request, an error in any policy, and an evaluation that took too long are one thing: no answer (AUD-26). */
function evaluate(deps: AuthorizeDeps, question: CedarQuestion): Evaluated {
  const begin = deps.clock();
  const reply = deps.evaluate(question);
  const tookMs = deps.clock() - begin;
  if (tookMs > evaluationLimitMs) {
    return { kind: "failed", errors: [`the evaluation took more than ${evaluationLimitMs} ms`] };
  }
  if (reply.type !== "success") return { kind: "failed", errors: reply.errors.map((error) => error.message) };
  const { decision, diagnostics } = reply.response;
  if (diagnostics.errors.length > 0) {
    return { kind: "failed", errors: diagnostics.errors.map((item) => `${item.policyId}: ${item.error.message}`) };
  }
  return { kind: "answered", decision, reason: diagnostics.reason };
}
