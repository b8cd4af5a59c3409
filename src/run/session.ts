import type { RunBudget, Used } from "../agent/index.ts";
import type { ActionId, ActionOutcome, ApprovalId, ChangeSet, Run } from "../domain/index.ts";
import type { RunContext } from "../gateway/index.ts";
import type { RunLease } from "../ledger/index.ts";
import type { RepositorySettings } from "../policy/index.ts";
import type { BaseTree, OutputMeter } from "../workspace/index.ts";
import type { IssueTexts } from "./issue-texts.ts";
import type { RunPhase } from "./run-deps.ts";

/** A run while it is worked on by this process. */
export type Session = {
  readonly run: Run;
  readonly issue: IssueTexts;
  readonly lease: RunLease;
  readonly base: BaseTree;
  readonly settings: RepositorySettings;
  /** What the gateway knows of the run, but for the workspace that an action works in. */
  readonly context: Omit<RunContext, "workspace" | "fingerprints" | "pages">;
  /** Change sets of authorized actions in the order recorded: the attribution is made from these alone. */
  readonly recorded: { readonly actionId: ActionId; readonly changeSet: ChangeSet }[];
  readonly outcomes: ActionOutcome[];
  /** Actions that were not executed because the log failed, until it says so (AUD-53). */
  unrecorded: readonly ActionId[];
  /** File actions that a person approved before an earlier worker of the run gave it back. */
  readonly approvedEarlier: Set<ActionId>;
  /** Questions that this worker has seen wait. */
  readonly waitingFor: Set<ApprovalId>;
  used: Used;
  /** What its commands have printed (SEC-57). */
  readonly output: OutputMeter;
  readonly budget: RunBudget;
  readonly startedAtMs: number;
  /** Told when a phase begins, for whoever shows it. */
  readonly onPhase: (phase: RunPhase) => void;
};

/** Kept free in the model's context, and the most that one answer may have (ACI-83). */
export const reservedOutputTokens = 8192;
