import { preparsePolicySet } from "@cedar-policy/cedar-wasm/nodejs";
import type { PolicyEngine } from "./authorization-request.ts";
import { cedarEvaluation, type DecisionBasis, decide } from "./authorize.ts";
import type { PolicyDeps } from "./load-policies.ts";
import type { PolicyCase } from "./policy-cases.ts";
import type { PolicyMutant } from "./policy-mutants.ts";
import { noRepositoryPolicies } from "./repository-policies.ts";

/** One name for all: Cedar keeps what is compiled by name, and a mutant is looked at once. */
const mutantSet = "mutant";

/**
 * The mutants that a set's own cases don't tell from it (AUD-29): each of them answers every case as the set does. The cases that the
 * faulty policy decides are tried first, since most mutants are told by one of them.
 */
export function survivingMutants(
  deps: PolicyDeps,
  engine: PolicyEngine,
  mutants: readonly PolicyMutant[],
  cases: readonly PolicyCase[],
): readonly PolicyMutant[] {
  const evaluate = cedarEvaluation(engine.schemaDigest, mutantSet);
  const basis: DecisionBasis = { ...engine, repositoryPolicyDigest: noRepositoryPolicies.digest, advice: new Map() };
  const tells = ({ request, effect, policyIds }: PolicyCase): boolean => {
    const decision = decide({ ...deps, evaluate }, basis, [request]);
    return decision.effect !== effect || decision.policyIds.join() !== policyIds.join();
  };
  return mutants.filter((mutant) => {
    compileMutant(engine, mutant);
    const isOwn = ({ policyIds }: PolicyCase): boolean => policyIds.includes(mutant.policyId);
    return !(cases.some((one) => isOwn(one) && tells(one)) || cases.some((one) => !isOwn(one) && tells(one)));
  });
}

function compileMutant({ policies }: PolicyEngine, { policyId, text }: PolicyMutant): void {
  const texts = policies.map(({ id, text: own }) => [id, id === policyId ? text : own] as const);
  const staticPolicies = Object.fromEntries(texts.flatMap(([id, own]) => (own === null ? [] : [[id, own]])));
  if (preparsePolicySet(mutantSet, { staticPolicies }).type === "failure") throw new Error("a mutant does not parse");
}
