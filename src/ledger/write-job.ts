import {
  type Clock,
  CountersignError,
  isCountersignError,
  type LedgerEntry,
  type NewEntry,
  type RandomBytes,
  type RunId,
} from "../domain/index.ts";
import { databaseRefusalOf, type Store, type Transaction } from "../store/index.ts";
import type { Keys } from "./keys.ts";
import { insertBatch, lockLedger } from "./ledger-sql.ts";
import { type PreparedBatch, type PreparedField, prepareBatch, type RunLease } from "./prepare-batch.ts";
import { readTail, type Tail, trimTail } from "./tail.ts";
import { deriveBatch, type Traces } from "./trace/derive-spans.ts";
import { recallTraces, trimTraces } from "./trace/recall-traces.ts";
import type { TraceSpan } from "./trace/span.ts";

export type LedgerDeps = {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Milliseconds of a clock that nobody sets; absent: that the other one was set forward is not seen (AUD-11). */
  readonly steadyClock?: () => number;
};

/**
 * `tail`: what this process believes the end of the log to be; null where it must ask. `traces`: what it derived from runs
 * so far, never wrong but perhaps short.
 */
export type Writer = {
  readonly deps: LedgerDeps;
  readonly origin: string;
  tail: Tail | null;
  traces: Traces;
  /** Both clocks at this process's last entry. */
  clocks?: Clocks;
};

type Clocks = { readonly nowMs: number; readonly steadyMs: number };

/** Runs whose next `runSeq` is remembered between appends. */
const rememberedRuns = 64;
/** After so many appends that came too late, the lock is taken first. */
const optimisticTries = 2;

/** Entries that are to become durable together, their texts sealed. `within` writes more in the same transaction. */
export type Job = {
  readonly lease: RunLease | null;
  readonly entries: readonly NewEntry[];
  readonly fields: readonly PreparedField[];
  readonly within: ((tx: Transaction) => Promise<void>) | null;
};

/** One after the other within a process: each needs to know where the one before ended. Throws what `append` throws. */
export const writeJob = (writer: Writer, job: Job): Promise<readonly LedgerEntry[]> =>
  job.within === null ? appendOptimistically(writer, job) : appendLocked(writer, job);

const runsOf = (entries: readonly NewEntry[]): RunId[] => [
  ...new Set(entries.flatMap(({ runId }) => (runId === null ? [] : [runId]))),
];

/**
 * One statement, one round trip, commit included: places are given by what this process remembers of the log's end, and
 * the database refuses the statement where another process was faster. Then the end is read again.
 */
async function appendOptimistically(writer: Writer, job: Job): Promise<readonly LedgerEntry[]> {
  for (let tries = 0; tries < optimisticTries; tries += 1) {
    try {
      const { log: db } = writer.deps.store;
      const tail = await recallTail(writer, job);
      const prepared = await prepare(writer, job, tail, db);
      writer.tail = null; // until it is known to be stored
      await insertBatch(db, prepared.batch, prepared.spans);
      return remember(writer, prepared);
    } catch (error) {
      if (!cameTooLate(error)) throw asLedgerError(error);
    }
  }
  return appendLocked(writer, job);
}

/** In a transaction that takes the lock before it reads where the log ends (AUD-40). */
async function appendLocked(writer: Writer, job: Job): Promise<readonly LedgerEntry[]> {
  const foreign: { error?: unknown } = {};
  writer.tail = null;
  try {
    const prepared = await writer.deps.store.transaction(async (tx) => {
      await lockLedger(tx);
      const made = await prepare(writer, job, await readTail(tx, runsOf(job.entries)), tx);
      await insertBatch(tx, made.batch, made.spans);
      await job.within?.(tx).catch((error: unknown) => {
        foreign.error = error;
        throw error;
      });
      return made;
    });
    return remember(writer, prepared);
  } catch (error) {
    throw error === foreign.error ? error : asLedgerError(error);
  }
}

async function recallTail(writer: Writer, job: Job): Promise<Tail> {
  const { tail } = writer;
  const runIds = runsOf(job.entries);
  if (tail !== null && runIds.every((runId) => tail.runSizes.has(runId))) return tail;
  const fresh = await readTail(writer.deps.store.log, runIds);
  // What is known of other runs holds if nothing was added meanwhile.
  if (tail === null || tail.tree.size !== fresh.tree.size) return fresh;
  return { ...fresh, runSizes: new Map([...tail.runSizes, ...fresh.runSizes]), states: tail.states };
}

/** All that one append writes, and what it makes of the traces of its runs. */
type Prepared = {
  readonly batch: PreparedBatch;
  readonly clocks: Clocks;
  readonly spans: readonly TraceSpan[];
  readonly traces: Traces;
};

/** What the clock would show had nobody set it since this process's last entry; null before its first. */
const expectedTime = ({ clocks }: Writer, { steadyMs }: Clocks): number | null =>
  clocks === undefined ? null : clocks.nowMs + steadyMs - clocks.steadyMs;

async function prepare(
  writer: Writer,
  job: Job,
  tail: Tail,
  db: LedgerDeps["store"]["db"] | Transaction,
): Promise<Prepared> {
  const { clock, steadyClock, randomBytes, keys } = writer.deps;
  const runSizes = new Map(runsOf(job.entries).map((runId) => [runId, tail.runSizes.get(runId) ?? 0]));
  const before = await recallTraces(db, keys, writer.traces, runSizes);
  const clocks = { nowMs: clock(), steadyMs: steadyClock?.() ?? 0 };
  const expectedMs = steadyClock === undefined ? null : expectedTime(writer, clocks);
  const at = { origin: writer.origin, nowMs: clocks.nowMs, expectedMs, randomBytes };
  const batch = prepareBatch(at, job.lease, job, tail);
  return { batch, clocks, ...deriveBatch(keys, before, batch.entries) };
}

/** Once it is stored. */
function remember(writer: Writer, { batch, clocks, traces }: Prepared): readonly LedgerEntry[] {
  writer.clocks = clocks;
  writer.tail = trimTail(batch.tail, rememberedRuns);
  const others = [...writer.traces].filter(([runId]) => !traces.has(runId));
  writer.traces = trimTraces(new Map([...others, ...traces]), rememberedRuns);
  return batch.entries;
}

const sqlstateOf = (error: unknown): string | null =>
  error instanceof Error && "code" in error && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : null;

/** Another process has written since the end of the log was read: its index or subtree is taken. */
function cameTooLate(error: unknown): boolean {
  const uniqueViolation = "23505";
  return databaseRefusalOf(error) === "not_next" || sqlstateOf(error) === uniqueViolation;
}

/** Rules that the database keeps (our own, integrity, data) are broken by bugs alone; all else is an outage. */
export function asLedgerError(error: unknown): unknown {
  if (isCountersignError(error)) return error;
  const sqlstate = sqlstateOf(error);
  if (sqlstate === null) return error;
  const refusal = databaseRefusalOf(error) ?? (/^2[23]/.test(sqlstate) ? sqlstate : null);
  if (refusal !== null) return new Error(`the database refused the entries: ${refusal}`, { cause: error });
  return new CountersignError("LEDGER_UNAVAILABLE", "the database can't record", {
    cause: error,
    details: { sqlstate },
  });
}
