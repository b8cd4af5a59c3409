/**
 * What may be done: the operator's Cedar policies, the floor in code under them, and what a repository forbids on top; also
 * the operator's and the repository's settings, which can only narrow.
 * Door: `loadPolicies` gives an engine whose `authorize` decides; `riskOf` raises risks; the loaders of both settings.
 * Never: no effect, no decision from text other than typed arguments, no widening by a repository, no allow after an error.
 */
export { type ApprovalAsked, approvalRequest } from "./approval-request.ts";
export type {
  AuthorizationPrincipal,
  AuthorizationRequest,
  PolicyEngine,
  RepositoryPolicies,
  RepositoryPolicy,
} from "./authorization-request.ts";
export { type Capability, type CapabilityWay, type DescribedAction, protectedWay } from "./capabilities.ts";
export type { BaseFiles } from "./derive-verify.ts";
export { foldedNames } from "./fold-path.ts";
export { survivingMutants } from "./kill-mutants.ts";
export {
  type CatalogueEntry,
  compilePolicies,
  compileRecordedPolicies,
  loadPolicies,
  type PolicyDeps,
} from "./load-policies.ts";
export {
  digestOperatorSettings,
  loadOperatorSettings,
  type OperatorSettings,
  parseOperatorSettings,
} from "./operator-settings.ts";
export { type Protection, protectionOf, protections, riskOf } from "./path-class.ts";
export {
  type CaseDifference,
  type CasesReport,
  type PolicyCase,
  readPolicyCases,
  runPolicyCases,
} from "./policy-cases.ts";
export { type PolicyMutant, policyMutants } from "./policy-mutants.ts";
export type { SourcePolicy } from "./policy-source.ts";
export { rawEvaluation } from "./raw-evaluation.ts";
export { type Detour, type PolicyReach, type Reached, reachOf } from "./reach.ts";
export { compileRepositoryPolicies, type ForbidText, noRepositoryPolicies } from "./repository-policies.ts";
export {
  loadRepositorySettings,
  type ParsedSettings,
  parseRepositorySettings,
  type RepositorySettings,
  settingsPath,
  type VerifySettings,
} from "./repository-settings.ts";
