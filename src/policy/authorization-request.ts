import type {
  ActionGroup,
  BudgetLeft,
  Decision,
  JsonObject,
  PathFact,
  Principal,
  RepositoryRef,
  Requester,
  Risk,
  RunId,
  RunStatus,
} from "../domain/index.ts";
import type { SourcePolicy } from "./policy-source.ts";

/** Who asks: a run, the host, or (for `approve` alone) the person who answers, with the permission GitHub told just now (AUD-37). */
export type AuthorizationPrincipal = Principal | { readonly kind: "person"; readonly person: Requester };

/**
 * One question to the policy: plain data, sealed with the decision, and enough to decide again (AUD-31).
 * An action that names several resources makes one request for each (AUD-21).
 */
export type AuthorizationRequest = {
  readonly principal: AuthorizationPrincipal;
  /** The person for whom the run works: Cedar's `context.requestedBy` and the parent of the run. */
  readonly requestedBy: Requester;
  /** The action's name in the catalogue and in the schema. */
  readonly tool: string;
  readonly group: ActionGroup;
  /** The action's own risk. `authorize` raises it by the path and never lowers it (AUD-28). */
  readonly risk: Risk;
  readonly repository: RepositoryRef;
  /** The run that this gateway serves: a principal of another one is refused by the floor. */
  readonly runId: RunId;
  /** True where a person said yes to this very action and content (AUD-35, AUD-21). */
  readonly approved: boolean;
  readonly runState: RunStatus;
  readonly attempt: number;
  readonly budgetLeft: BudgetLeft;
  readonly effects: readonly string[];
  readonly path: PathFact | null;
  /** Canonical arguments, or those of them that the schema of the action names; null fields count as absent. */
  readonly input: JsonObject;
  /** The branch that this run may write; needed by every action that names a branch. */
  readonly runBranch?: string;
  /** The repository that this run was started for, where `repository` is taken from elsewhere. */
  readonly runRepositoryId?: string;
};

/** One policy of the repository, ready to stand beside the operator's. */
export type RepositoryPolicy = { readonly id: string; readonly text: string; readonly advice: string | null };

/** What the repository forbids on top (AUD-24). Made by `compileRepositoryPolicies` or `noRepositoryPolicies` alone. */
export type RepositoryPolicies = { readonly digest: string; readonly policies: readonly RepositoryPolicy[] };

/** A compiled policy set. Digests are SHA-256 in lower-case hex. */
export type PolicyEngine = {
  /** Over the sorted file names and bytes of `policyText`. */
  readonly policySetDigest: string;
  readonly schemaDigest: string;
  /** Cedar's version. */
  readonly engineVersion: string;
  readonly floorVersion: string;
  /** What the floor takes for a tool. */
  readonly tools: ReadonlySet<string>;
  /** File name to text: every policy file and the schema, to be stored once by digest (AUD-25). */
  readonly policyText: ReadonlyMap<string, string>;
  /** The ids of the operator's policies, sorted. */
  readonly policyIds: readonly string[];
  /** The operator's policies as they were read, in the order of files and lines. */
  readonly policies: readonly SourcePolicy[];
  readonly schema: string;
  /**
   * Decides: floor, then operator's and repository's policies. All requests must be allowed; none is a deny. Never throws:
   * whatever goes wrong is a deny with the id `policy_error` (AUD-26). No input but its arguments, no effect.
   */
  readonly authorize: (requests: readonly AuthorizationRequest[], repositoryPolicies: RepositoryPolicies) => Decision;
};
