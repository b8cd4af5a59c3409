import type { ModelClient, ModelEvent } from "../agent/index.ts";
import type {
  ActionOutcome,
  ChangeSet,
  Conclusion,
  IdSource,
  Redactor,
  RepositoryRef,
  Requester,
  Risk,
  RunId,
  TraceId,
} from "../domain/index.ts";
import type { Catalogue, PendingApproval, SavedPages } from "../gateway/index.ts";
import type { Github } from "../github/index.ts";
import type { Keys, Ledger, SpoolReading } from "../ledger/index.ts";
import type { OperatorSettings, PolicyEngine } from "../policy/index.ts";
import type { Store } from "../store/index.ts";
import type { BaseSource, BaseTree, OpenedBase, OutputMeter, RungName, Workspace } from "../workspace/index.ts";
import type { IssueTexts } from "./issue-texts.ts";
import type { RunReport } from "./run-report.ts";

/** The hands of the workspace room, with its own settings closed over by the composition root. */
export type WorkspaceHands = {
  /** What holds the sandboxes to their limits (SEC-53): for the record. */
  readonly rung: RungName;
  readonly openBase: (source: BaseSource, signal: AbortSignal) => Promise<OpenedBase>;
  /** The tree of a commit that a mirror already holds; null where the mirror is gone. */
  readonly reopenBase: (repositoryId: string, commitSha: string) => Promise<BaseTree | null>;
  readonly readBaseFile: (base: BaseTree, path: string) => Promise<Uint8Array | null>;
  readonly createWorkspace: (
    base: BaseTree,
    options: {
      readonly runId: RunId;
      readonly name: string;
      readonly buildOutput: readonly string[];
      /** The run's, which all its workspaces add to. */
      readonly output: OutputMeter;
    },
    signal: AbortSignal,
  ) => Promise<Workspace>;
  readonly renderPatch: (base: BaseTree, changeSet: ChangeSet) => Promise<string>;
};

/** Puts a question to the person at the terminal. `reason` is their free text for a no. */
export type AskApproval = (
  question: PendingApproval,
  signal: AbortSignal,
) => Promise<{ readonly isGranted: boolean; readonly reason: string }>;

/** Host and port alone: an address may hold a path that tells more. */
export type ServerPlace = { readonly address: string; readonly port: number };

/** All that a run needs of the world. */
export type RunDeps = IdSource & {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly policies: PolicyEngine;
  readonly operator: OperatorSettings;
  readonly catalogue: Catalogue;
  readonly model: ModelClient;
  /** The name under which the model is asked, and where: for the record. */
  readonly modelName: string;
  readonly modelServer?: ServerPlace;
  readonly workspace: WorkspaceHands;
  /** Keeps output too long to show in a folder of the run's own outside the checkout, until it is disposed. */
  readonly openPages: (runId: RunId) => Promise<SavedPages>;
  /** Null where no App is at hand: then nothing on GitHub is looked for. */
  readonly github: Github | null;
  /** Null where nobody can be asked. */
  readonly askApproval: AskApproval | null;
  /** Throws `DISK_FULL` where the disk has too little room for a run (AUD-58); absent: nobody looks. */
  readonly requireRoom?: () => Promise<void>;
  /** Told each time that an action of that risk could not be recorded (AUD-52); absent: nobody asks. */
  readonly onUnrecorded?: (risk: Risk) => void;
  /** What this machine's workers could not record of effects that were begun (AUD-54). */
  readonly readSpools: () => Promise<SpoolReading>;
  /** Keeps a patch that the store can't take; answers with where it is. */
  readonly keepPatchOutside: (runId: RunId, patch: string) => Promise<string>;
  readonly onEvent: (event: RunEvent) => void;
  /** Knows the live secrets: nothing with one of them is published. */
  readonly redactor: Redactor;
  /** For tests: the pauses between looks at what became of a lost answer; absent: the gateway's own. */
  readonly lookPausesMs?: readonly number[];
};

/** What is asked for: a repository, an issue, and who asks. */
export type LocalRequest = {
  readonly source: BaseSource;
  readonly issue: IssueTexts;
  readonly requester: Requester;
};

export type RunPhase = "prepare" | "verify_before" | "work" | "verify_after" | "publish" | "settle";

/** Everything that happens in a run, for whoever watches it; the ledger is the record. */
export type RunEvent =
  | { readonly kind: "phase"; readonly phase: RunPhase }
  | {
      readonly kind: "started";
      readonly runId: RunId;
      readonly traceId: TraceId;
      readonly repository: RepositoryRef;
      readonly baseSha: string;
      readonly uncommitted: readonly string[];
    }
  | { readonly kind: "model"; readonly event: ModelEvent }
  | { readonly kind: "action"; readonly outcome: ActionOutcome }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "completed"; readonly report: RunReport }
  /** A run from GitHub is over, also one that never came to work. */
  | { readonly kind: "ended"; readonly runId: RunId; readonly conclusion: Conclusion };
