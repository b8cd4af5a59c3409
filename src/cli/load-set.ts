import { newDecisionId } from "../domain/index.ts";
import { createCatalogue } from "../gateway/index.ts";
import { loadPolicies, type PolicyDeps, type PolicyEngine } from "../policy/index.ts";
import type { CliDeps } from "./cli-deps.ts";

type Ids = Pick<CliDeps, "clock" | "randomBytes">;

/** A clock that stands still: what a busy machine does is no property of a set. */
export const policyDepsOf = (deps: Ids): PolicyDeps => ({ clock: () => 0, newDecisionId: () => newDecisionId(deps) });

/** The set of a folder, as it decides in service. */
export const loadSet = (deps: Ids, folder: string): Promise<PolicyEngine> =>
  loadPolicies(policyDepsOf(deps), folder, [...createCatalogue().values()]);
