import { type CountersignError, isCountersignError } from "../domain/index.ts";

/** Nothing can be recorded now. */
export const isOutage = (error: unknown): error is CountersignError =>
  isCountersignError(error) && (error.code.startsWith("LEDGER_") || error.code.startsWith("DATABASE_"));
