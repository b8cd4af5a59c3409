import type {
  ActionId,
  BudgetLeft,
  ChangeSet,
  RepositoryRef,
  Requester,
  RunId,
  RunStatus,
  TraceId,
} from "../domain/index.ts";
import type { GithubWriter } from "../github/index.ts";
import type { RunLease } from "../ledger/index.ts";
import type { RepositoryPolicies } from "../policy/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { ActionSettings } from "./action-description.ts";
import type { PassedChangeSet } from "./commit-gate.ts";
import type { Fingerprints } from "./fingerprints.ts";
import type { SavedPages } from "./saved-pages.ts";

/** What a run has that neither reads nor writes a GitHub. */
export const withoutGithub = { github: null, runBranch: null, publishing: null, isPathApproved: () => false } as const;

/** What the gateway knows of the run that it serves. Facts that change are functions, asked at each action. */
export type RunContext = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly attempt: number;
  /** The delivery that asked for it, on each of its entries (AUD-10); absent: nobody did by one. */
  readonly deliveryId?: string | null;
  readonly lease: RunLease;
  readonly requester: Requester;
  /** Random; the ledger knows the person by nothing else (AUD-79). */
  readonly requesterReference: string;
  readonly repository: RepositoryRef;
  readonly repositoryPolicies: RepositoryPolicies;
  readonly runState: () => RunStatus;
  readonly budgetLeft: () => BudgetLeft;
  /** The run's checkout; for the host's verification a fresh one. Null where only GitHub is written to. */
  readonly workspace: Workspace | null;
  /** The only hand that changes anything on GitHub; null for a run without a GitHub. */
  readonly github: GithubWriter | null;
  /** The one branch that this run may write (AUD-23). */
  readonly runBranch: string | null;
  /** The bytes that `push_commit` publishes; its arguments name them by path, mode and blob id. */
  readonly publishing: { readonly changeSet: PassedChangeSet } | null;
  /** Whether a person approved the last action on this path, with content unchanged since (AUD-21). */
  readonly isPathApproved: (path: string) => boolean;
  /**
   * Whether a person approved this command of the host's own on these very files, or, byte for byte, every changed file that a setup
   * here installs from (AUD-21); absent: no.
   */
  readonly isOwnCommandApproved?: boolean;
  readonly fingerprints: Fingerprints;
  readonly pages: SavedPages;
  readonly settings: ActionSettings;
  /** Where a person can be asked. `none`: what needs an approval is denied at once (AUD-28). */
  readonly approvalChannel: "terminal" | "github" | "none";
  /** Key of the digests that people and traces see (AUD-16). */
  readonly runKey: Uint8Array;
  /** Told of each recorded change set, in order: the attribution is made from these alone (AUD-21). */
  readonly onRecordedChange: (actionId: ActionId, changeSet: ChangeSet) => void;
};
