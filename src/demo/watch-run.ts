import { type ActionOutcome, CountersignError } from "../domain/index.ts";
import type { RunEvent, RunReport } from "../run/index.ts";
import type { Timing } from "./demo-result.ts";

/** Follows the one run of a demonstration by its events. */
export type RunWatch = {
  readonly onEvent: (event: RunEvent) => void;
  /** From now on a run is waited for. */
  begin(): void;
  /**
   * The report, with the host's own actions in it. Rejects with the signal's reason, and with `DEMO_FAILED` where no run has
   * begun in time or it ended before it came to work.
   */
  ended(signal: AbortSignal): Promise<RunReport>;
  /** From the label to the first event, then by phases. */
  timings(): readonly Timing[];
};

/** A delivery becomes a run within a second; a machine that is very busy may need a few. */
const startTimeoutMs = 60_000;

/** `pass` gets each event. */
export function watchRun(clock: () => number, pass: (event: RunEvent) => void): RunWatch {
  const marks: { readonly part: string; readonly at: number }[] = [];
  const begun = Promise.withResolvers<void>();
  const report = Promise.withResolvers<RunReport>();
  report.promise.catch(() => undefined); // it may fail before it is waited for
  const actions: ActionOutcome[] = [];
  let endedAt = 0;
  return {
    begin: () => void marks.push({ part: "label to run", at: clock() }),
    onEvent: (event) => {
      begun.resolve();
      if (event.kind === "phase") marks.push({ part: event.phase.replaceAll("_", " "), at: clock() });
      if (event.kind === "action") actions.push(event.outcome);
      if (event.kind === "completed") {
        endedAt = clock();
        report.resolve({ ...event.report, actions });
      }
      if (event.kind === "ended") report.reject(endedEarly(event.conclusion));
      pass(event);
    },
    ended: async (signal) => {
      const isLate = AbortSignal.timeout(startTimeoutMs);
      const late = untilAborted(isLate).then(() => "late" as const);
      const first = await Promise.race([begun.promise, untilAborted(signal), late]);
      signal.throwIfAborted();
      if (first === "late") throw new CountersignError("DEMO_FAILED", "no run began after the issue was labelled");
      await Promise.race([report.promise, untilAborted(signal)]);
      signal.throwIfAborted();
      return report.promise;
    },
    timings: () => marks.map(({ part, at }, place) => ({ part, durationMs: (marks[place + 1]?.at ?? endedAt) - at })),
  };
}

/** No effect after a report. */
const endedEarly = (conclusion: string): CountersignError =>
  new CountersignError("DEMO_FAILED", `the run ended as \`${conclusion}\` before it came to work`);

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
