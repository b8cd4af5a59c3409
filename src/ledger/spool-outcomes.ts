import { type ActionState, type Clock, CountersignError, isCountersignError, type NewEntry } from "../domain/index.ts";
import type { Ledger } from "./ledger.ts";
import type { Spool, SpooledOutcome } from "./spool.ts";

/** States that only an effect that was begun leads to. */
const outcomes: ReadonlySet<ActionState | null> = new Set<ActionState>(["succeeded", "failed_definite", "unknown"]);

/**
 * A ledger whose outcomes go to the spool where they can't be recorded (AUD-54). The error goes on to the caller all the
 * same (AUD-55), and says that an effect was begun: `isAfterEffect`. Where not even the spool takes it, it says so too.
 */
export function spoolOutcomes(ledger: Ledger, spool: Pick<Spool, "keep">, clock: Clock): Ledger {
  return {
    ...ledger,
    append: async (lease, batch, within) => {
      try {
        return await ledger.append(lease, batch, within);
      } catch (error) {
        if (!isCountersignError(error, "LEDGER_UNAVAILABLE")) throw error;
        const lost = batch.entries.flatMap((entry) => spooledOutcome(entry, clock) ?? []);
        if (lost.length === 0) throw error;
        throw await keepAll(spool, lost, error);
      }
    },
  };
}

/** Whether an error to record came after an effect: the run takes no further action then. */
export const isAfterEffect = (error: unknown): boolean =>
  isCountersignError(error, "LEDGER_UNAVAILABLE") && error.details["afterEffect"] === true;

function spooledOutcome({ type, runId, actionId, state, ...entry }: NewEntry, clock: Clock): SpooledOutcome | null {
  if (type !== "action" || runId === null || actionId === null || state === null || !outcomes.has(state)) return null;
  const time = new Date(clock()).toISOString();
  return { runId, actionId, try: entry.try, state, evidence: entry.evidence, time };
}

async function keepAll(
  spool: Pick<Spool, "keep">,
  lost: readonly SpooledOutcome[],
  error: CountersignError,
): Promise<CountersignError> {
  const { message, remedy, details, cause } = error;
  try {
    for (const outcome of lost) await spool.keep(outcome);
    const said = `${message}; what was done is kept in the spool`;
    const told = { ...details, afterEffect: true, spooledCount: lost.length };
    return new CountersignError("LEDGER_UNAVAILABLE", said, { cause, remedy, details: told });
  } catch (spoolError) {
    const code = (spoolError as NodeJS.ErrnoException).code ?? "unknown";
    const said = `${message}; nor could what was done be kept in the spool: ${code}`;
    const told = { ...details, afterEffect: true, spooledCount: 0, spoolError: code };
    return new CountersignError("LEDGER_UNAVAILABLE", said, { cause: spoolError, remedy, details: told });
  }
}
