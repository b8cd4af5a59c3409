import type { ActionOutcome, Checkpoint, Conclusion, RunId, StopReason, TraceId } from "../domain/index.ts";

/** One run of the project's own test command by the host. */
export type TestRun = {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly passedCount: number | null;
  readonly failedCount: number | null;
  /** Set where the command could not be run at all: its program is missing, or the sandbox ended it. */
  readonly missing: string | null;
};

/** A change that may not be published, and the rules that say so. */
export type WithheldChange = { readonly path: string; readonly policyIds: readonly string[] };

/** What `run` tells at its end. */
export type RunReport = {
  readonly runId: RunId;
  readonly traceId: TraceId;
  readonly conclusion: Conclusion;
  readonly stopReason: StopReason;
  /** One sentence on why it ended so. */
  readonly cause: string;
  readonly title: string;
  readonly summary: string;
  /** What was opened on GitHub, as read back from there; null where nothing was. */
  readonly pullRequest: {
    readonly number: number;
    readonly url: string;
    readonly headSha: string;
    readonly isDraft: boolean;
    /** Whether GitHub showed it when it was read after the write. */
    readonly isConfirmed: boolean;
    readonly diffStat: { readonly files: number; readonly added: number; readonly removed: number };
  } | null;
  /** Applies to the base with plain `git apply`; empty where nothing changed. */
  readonly patch: string;
  /** Where the patch is kept: a command, or a file where the store could not take it; null where there is none. */
  readonly patchKept: string | null;
  readonly diffStat: { readonly files: number; readonly added: number; readonly removed: number };
  readonly tests: {
    readonly command: string | null;
    /** True where no settings file names the command and it was taken from the base commit's manifest. */
    readonly derived: boolean;
    readonly before: TestRun | null;
    readonly after: TestRun | null;
  };
  readonly actions: readonly ActionOutcome[];
  /** Changed paths that no authorized action produced; never in the patch. */
  readonly leftOut: readonly string[];
  /** Changed paths that the policy does not let out, whatever wrote them, with the rules; never in the patch. */
  readonly withheld: readonly WithheldChange[];
  /** `verified` null: the log was not verified at the end of this run. */
  readonly ledger: Checkpoint & { readonly verified: boolean | null };
  readonly tokens: { readonly input: number; readonly output: number };
  readonly durationMs: number;
};
