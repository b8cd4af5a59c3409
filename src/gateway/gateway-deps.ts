import type { ApprovalId, Decision, IdSource, RunId } from "../domain/index.ts";
import type { Ledger } from "../ledger/index.ts";
import type { AuthorizationRequest, RepositoryPolicies } from "../policy/index.ts";
import type { Halt } from "../store/index.ts";
import type { Catalogue } from "./catalogue.ts";
import type { PendingApproval } from "./pending-approval.ts";

/** What the gateway works with. The hands (workspace, sandbox) come with each run's context, from the composition root alone. */
export type GatewayDeps = IdSource & {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  /** Pure; one request for each resource; an error is a deny. */
  readonly authorize: (requests: readonly AuthorizationRequest[], policies: RepositoryPolicies) => Decision;
  /** Why the run may start nothing more, read anew before each action (SEC-5, GH-50). Throws where it can't be read. */
  readonly readHalt: (runId: RunId) => Promise<Halt | null>;
  /** Questions that wait for a person. An answer takes its question out, so that it can be given once. */
  readonly openQuestions: Map<ApprovalId, PendingApproval>;
  /** How long a question waits for its answer (AUD-38). */
  readonly approvalExpiresAfterMs: number;
  /** Waits, or throws the signal's reason: between two looks at what became of a lost answer. */
  readonly delay: (waitMs: number, signal: AbortSignal) => Promise<void>;
  /** For tests: how long it waits before each further look; absent: 5 s and 15 s (AUD-65). */
  readonly lookPausesMs?: readonly number[];
};
