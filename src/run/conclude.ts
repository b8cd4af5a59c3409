import { type Conclusion, conclusionOf, type StopReason } from "../domain/index.ts";
import type { TestRun } from "./run-report.ts";

/** What is known at the end of a run, from the host's own observation. */
export type Ending = {
  readonly stopReason: StopReason;
  /** Why an error ended it, in a sentence; else empty. */
  readonly detail: string;
  readonly changedPaths: readonly string[];
  readonly verifyCommand: string | null;
  readonly before: TestRun | null;
  readonly after: TestRun | null;
  /** Test files and runner settings of the base that the change touches. */
  readonly weakenedPaths: readonly string[];
  /** Why the tree was refused at read-back; empty where it was read. */
  readonly refusedCauses: readonly string[];
  /** Why the commit gate lets nothing out; empty where it does. */
  readonly gateCauses: readonly string[];
};

/**
 * The conclusion and its cause in one sentence. Verified means that the project's own command exits 0 on a fresh tree of
 * base plus change set and that no test file or runner setting of the base changed; nothing the model says counts.
 */
export function conclude(ending: Ending): { readonly conclusion: Conclusion; readonly cause: string } {
  const { stopReason, before, after } = ending;
  if (ending.refusedCauses.length > 0) {
    return { conclusion: "failure", cause: `the tree was refused at read-back: ${ending.refusedCauses[0]}` };
  }
  if (stopReason !== "finished")
    return { conclusion: conclusionOf(stopReason), cause: ending.detail || stopCauses[stopReason] };
  if (ending.changedPaths.length === 0) return { conclusion: "neutral", cause: stopCauses.nothing_to_do };
  if (ending.gateCauses.length > 0) {
    return { conclusion: "action_required", cause: gateCause(ending.gateCauses) };
  }
  if (ending.verifyCommand === null) {
    return {
      conclusion: "neutral",
      cause: "not verified: the repository names no verify command; add `verify` to `.github/countersign.yml`",
    };
  }
  if (after === null) return { conclusion: "neutral", cause: "not verified: the verification did not run" };
  if (after.missing !== null) return { conclusion: "neutral", cause: `not verified: ${after.missing}` };
  if (after.timedOut) return { conclusion: "failure", cause: "the tests did not end within their time limit" };
  if (after.exitCode !== 0) {
    return { conclusion: "failure", cause: `the tests fail on the change (exit code ${after.exitCode ?? "none"})` };
  }
  if (before === null || before.missing !== null) {
    return { conclusion: "neutral", cause: "not verified: the tests could not be run on the base" };
  }
  // Output can be imitated, so this finds the careless alone; what judges the change is guarded by the paths below.
  if (countOf(after) < countOf(before)) {
    return {
      conclusion: "neutral",
      cause: `not verified: ${countOf(before)} tests ran before, ${countOf(after)} after`,
    };
  }
  if (ending.weakenedPaths.length > 0) {
    const paths = firstOf(ending.weakenedPaths);
    return { conclusion: "neutral", cause: `not verified: the change touches what judges it (${paths})` };
  }
  return { conclusion: "success", cause: "the tests pass on a fresh tree of the base and the change" };
}

/** In one sentence what the commit gate has against a change. */
export const gateCause = (causes: readonly string[]): string =>
  `the commit gate stopped the change: ${firstOf(causes)}`;

const namedAtMost = 5;

function firstOf(paths: readonly string[]): string {
  const named = paths.slice(0, namedAtMost).join(", ");
  return paths.length <= namedAtMost ? named : `${named} and ${paths.length - namedAtMost} more`;
}

const countOf = ({ passedCount, failedCount }: TestRun): number => (passedCount ?? 0) + (failedCount ?? 0);

const stopCauses: Readonly<Record<Exclude<StopReason, "finished">, string>> = {
  nothing_to_do: "there is nothing to change",
  limit_turns: "the limit of turns was reached",
  limit_tokens: "the limit of tokens was reached",
  limit_cost: "the limit of cost was reached",
  limit_time: "the limit of time was reached",
  stuck: "the model repeated itself without getting further",
  format_errors: "the model's tool calls could not be read, three times in a row",
  no_action: "the model answered without a tool call, three times in a row",
  model_refused: "the model declined the task",
  model_unavailable: "the model server failed",
  context_exhausted: "the work no longer fits the model's context",
  cancelled: "the run was cancelled",
  approval_expired: "an approval expired unanswered",
  setup_failed: "the setup command failed",
  bug: "Countersign failed; the id of the run leads to its record",
};
