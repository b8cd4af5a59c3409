import { type CountersignError, isCountersignError } from "../domain/index.ts";

/** Nothing can be recorded now. */
export const isOutage = (error: unknown): error is CountersignError =>
  isCountersignError(error) &&
  (error.code.startsWith("LEDGER_") || error.code.startsWith("DATABASE_") || error.code === "KILL_SWITCH_UNREADABLE");

/** Nothing more may be started: all is paused (SEC-5), or the run is to stop (GH-50). */
export const isHalt = (error: unknown): error is CountersignError =>
  isCountersignError(error, "PAUSED") || isCountersignError(error, "ABORTED");
