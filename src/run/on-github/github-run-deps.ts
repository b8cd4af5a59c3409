import type { Github } from "../../github/index.ts";
import type { LeaseTimes } from "../lease.ts";
import type { RunDeps } from "../run-deps.ts";

/** What a run needs whose result is published on GitHub. */
export type PublishingDeps = RunDeps & {
  readonly github: Github;
  /** Address under which people reach the pages; null: no link is written (GH-47). */
  readonly publicUrl: string | null;
};

/** All that a run from GitHub needs of the world. */
export type GithubRunDeps = PublishingDeps & {
  /** How many runs this process works on at once. */
  readonly places: number;
  /** Why this process takes no run now, asked before each; null where it does. Absent: it always does. */
  readonly whyNoneTaken?: () => Promise<"disk" | "ending" | null>;
  /** Counts a run as at work until it is disposed (AUD-52); absent: nobody counts. */
  readonly atWork?: () => Disposable;
  readonly times: LeaseTimes & {
    /** How often it is asked whether somebody wants the run to stop. */
    readonly stopPollMs: number;
  };
};

/** The label that asks for a fix, by exact code points (SEC-33). */
export const triggerLabel = "countersign";
