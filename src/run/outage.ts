import { type CountersignError, isCountersignError } from "../domain/index.ts";
import { isAfterEffect } from "../ledger/index.ts";
import type { RunDeps } from "./run-deps.ts";

/** Nothing can be recorded now. */
export const isOutage = (error: unknown): error is CountersignError =>
  isCountersignError(error) &&
  (error.code.startsWith("LEDGER_") || error.code.startsWith("DATABASE_") || error.code === "KILL_SWITCH_UNREADABLE");

/** The log takes nothing, which will pass; not that it is broken, or that another worker has the run. */
export const isLogOut = (error: unknown): error is CountersignError =>
  isCountersignError(error, "LEDGER_UNAVAILABLE") || isCountersignError(error, "KILL_SWITCH_UNREADABLE");

/** The log failed before the action had an effect: nothing was done (AUD-53). */
export const isBeforeEffect = (error: unknown): boolean =>
  isCountersignError(error, "LEDGER_UNAVAILABLE") && !isAfterEffect(error);

/** Nothing more may be started: all is paused (SEC-5), or the run is to stop (GH-50). */
export const isHalt = (error: unknown): error is CountersignError =>
  isCountersignError(error, "PAUSED") || isCountersignError(error, "ABORTED");

type Noting = Pick<RunDeps, "catalogue" | "onUnrecorded">;

/** Performs an action of that tool; an outage that keeps it from being recorded is noted, and thrown on. */
export async function notingOutage<Outcome>(deps: Noting, tool: string, act: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await act();
  } catch (error) {
    noteOutage(deps, tool, error);
    throw error;
  }
}

/** Tells whoever decides what an outage means for this process (AUD-52). An action of no known tool counts as dangerous. */
export function noteOutage({ catalogue, onUnrecorded }: Noting, tool: string, error: unknown): void {
  if (isLogOut(error)) onUnrecorded?.(catalogue.get(tool)?.risk ?? "DANGEROUS");
}
