import { CountersignError } from "../domain/index.ts";
import type { RunEvent, RunReport } from "../run/index.ts";
import type { Timing } from "./demo-result.ts";

/** Follows the one run of a demonstration by its events. */
export type RunWatch = {
  readonly onEvent: (event: RunEvent) => void;
  /** From now on a run is waited for. */
  begin(): void;
  /** The report; rejects with the signal's reason, and with `DEMO_FAILED` where no run has begun in time. */
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
  let endedAt = 0;
  return {
    begin: () => void marks.push({ part: "label to run", at: clock() }),
    onEvent: (event) => {
      begun.resolve();
      if (event.kind === "phase") marks.push({ part: event.phase.replaceAll("_", " "), at: clock() });
      if (event.kind === "completed") {
        endedAt = clock();
        report.resolve(event.report);
      }
      pass(event);
    },
    ended: async (signal) => {
      const isLate = AbortSignal.timeout(startTimeoutMs);
      await Promise.race([begun.promise, untilAborted(signal), untilAborted(isLate)]);
      signal.throwIfAborted();
      if (marks.length === 1 && isLate.aborted) {
        throw new CountersignError("DEMO_FAILED", "no run began after the issue was labelled");
      }
      await Promise.race([report.promise, untilAborted(signal)]);
      signal.throwIfAborted();
      return report.promise;
    },
    timings: () => marks.map(({ part, at }, place) => ({ part, durationMs: (marks[place + 1]?.at ?? endedAt) - at })),
  };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
