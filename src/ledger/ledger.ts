import {
  type Checkpoint,
  type Clock,
  CountersignError,
  isCountersignError,
  type LedgerEntry,
  type NewEntry,
  type RandomBytes,
  type RunId,
  type SealedField,
} from "../domain/index.ts";
import { databaseRefusalOf, type Store, type Transaction } from "../store/index.ts";
import { type Keys, originOf } from "./keys.ts";
import { createHeadRow, insertBatch, lockLedger } from "./ledger-sql.ts";
import { rootOf } from "./merkle.ts";
import {
  checkBatch,
  commitmentsOf,
  type NewBatch,
  type PreparedBatch,
  type PreparedField,
  placeOf,
  prepareBatch,
  type RunLease,
} from "./prepare-batch.ts";
import { commitRunTexts } from "./seal-committed.ts";
import { readTail, type Tail, trimTail } from "./tail.ts";
import { deriveBatch, type Traces } from "./trace/derive-spans.ts";
import { recallTraces, trimTraces } from "./trace/recall-traces.ts";
import type { TraceSpan } from "./trace/span.ts";

export type LedgerDeps = {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
};

/** The one log of an instance. Any number of processes may have it open; their entries make one history. */
export type Ledger = {
  /** `countersign/<instance id>`. */
  readonly origin: string;
  /**
   * Adds the entries, in order and side by side, with their sealed texts and the spans that they complete: all or nothing,
   * durable when it returns.
   * `within` writes more in the same transaction, after the entries; it costs two to three round trips. A sealed field
   * belongs to the entry of its action whose `evidence.commitments` names it; to texts of the run as a whole, the first
   * entry of the run is made to commit. Throws `LEDGER_UNAVAILABLE` (where the
   * connection broke at the end the entries may be there), `LEDGER_CONFLICT` where the lease was lost,
   * `LEDGER_ENTRY_TOO_LARGE` before anything is written. An impossible transition is a bug: `Error`.
   */
  append(
    run: RunLease | null,
    batch: NewBatch,
    within?: (tx: Transaction) => Promise<void>,
  ): Promise<readonly LedgerEntry[]>;
  /** The newest head, read from the database. */
  head(): Promise<Checkpoint>;
};

/** Runs whose next `runSeq` is remembered between appends. */
const rememberedRuns = 64;
/** After so many appends that came too late, the lock is taken first. */
const optimisticTries = 2;

/**
 * Opens the log, and begins it in an empty database. Throws `KEYS_UNUSABLE` where the database holds another instance's
 * log than the keys, `LEDGER_UNAVAILABLE` where it doesn't answer.
 */
export async function openLedger(deps: LedgerDeps): Promise<Ledger> {
  const origin = originOf(deps.keys);
  const found = await createHeadRow(deps.store, origin).catch((error: unknown) => {
    throw asLedgerError(error);
  });
  if (found !== origin) {
    throw new CountersignError(
      "KEYS_UNUSABLE",
      `the database has the log of \`${found}\`, the keys are of \`${origin}\``,
      {
        details: { found, expected: origin },
      },
    );
  }
  const writer: Writer = { deps, origin, tail: null, traces: new Map(), turn: Promise.resolve() };
  return {
    origin,
    append: (run, batch, within) => append(writer, run, batch, within),
    head: async () => {
      const { tree } = await readTail(deps.store.db, []).catch((error: unknown) => {
        throw asLedgerError(error);
      });
      return { origin, size: tree.size, rootHash: Buffer.from(rootOf(tree)).toString("base64") };
    },
  };
}

/**
 * `tail`: what this process believes the end of the log to be; null where it must ask. `traces`: what it derived from runs
 * so far, never wrong but perhaps short. `turn`: the append under way.
 */
type Writer = {
  readonly deps: LedgerDeps;
  readonly origin: string;
  tail: Tail | null;
  traces: Traces;
  turn: Promise<unknown>;
};

async function append(
  writer: Writer,
  lease: RunLease | null,
  batch: NewBatch,
  within?: (tx: Transaction) => Promise<void>,
): Promise<readonly LedgerEntry[]> {
  checkBatch(lease, batch.entries);
  const { entries, sealed } = commitRunTexts(batch, writer.deps.randomBytes);
  const fields = await Promise.all(sealed.map((field) => seal(writer.deps.keys, entries, field)));
  const job: Job = { lease, entries, fields, runIds: runsOf(entries) };
  // One after the other within a process: each needs to know where the one before ended.
  const done = writer.turn.then(() => (within ? appendLocked(writer, job, within) : appendOptimistically(writer, job)));
  writer.turn = done.catch(() => undefined);
  return done;
}

type Job = {
  readonly lease: RunLease | null;
  readonly entries: readonly NewEntry[];
  readonly fields: readonly PreparedField[];
  readonly runIds: readonly RunId[];
};

const runsOf = (entries: readonly NewEntry[]): RunId[] => [
  ...new Set(entries.flatMap(({ runId }) => (runId === null ? [] : [runId]))),
];

async function seal(keys: Keys, entries: readonly NewEntry[], field: SealedField): Promise<PreparedField> {
  const at = placeOf(entries, field);
  const entry = entries[at];
  if (entry === undefined || entry.runId === null) throw new Error("a sealed field belongs to a run");
  const place = { runId: entry.runId, actionId: field.actionId, field: field.field };
  const sealed = await keys.seal(
    field.subject === undefined ? place : { ...place, subject: field.subject },
    field.plaintext,
  );
  return { ...place, at, sealed, commitment: commitmentsOf(entry.evidence)[field.field] ?? null };
}

/**
 * One statement, one round trip, commit included: places are given by what this process remembers of the log's end, and
 * the database refuses the statement where another process was faster. Then the end is read again.
 */
async function appendOptimistically(writer: Writer, job: Job): Promise<readonly LedgerEntry[]> {
  for (let tries = 0; tries < optimisticTries; tries += 1) {
    try {
      const { db } = writer.deps.store;
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
async function appendLocked(
  writer: Writer,
  job: Job,
  within?: (tx: Transaction) => Promise<void>,
): Promise<readonly LedgerEntry[]> {
  const foreign: { error?: unknown } = {};
  writer.tail = null;
  try {
    const prepared = await writer.deps.store.transaction(async (tx) => {
      await lockLedger(tx);
      const made = await prepare(writer, job, await readTail(tx, job.runIds), tx);
      await insertBatch(tx, made.batch, made.spans);
      await within?.(tx).catch((error: unknown) => {
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
  if (tail !== null && job.runIds.every((runId) => tail.runSizes.has(runId))) return tail;
  const fresh = await readTail(writer.deps.store.db, job.runIds);
  // What is known of other runs holds if nothing was added meanwhile.
  if (tail === null || tail.tree.size !== fresh.tree.size) return fresh;
  return { ...fresh, runSizes: new Map([...tail.runSizes, ...fresh.runSizes]), states: tail.states };
}

/** All that one append writes, and what it makes of the traces of its runs. */
type Prepared = { readonly batch: PreparedBatch; readonly spans: readonly TraceSpan[]; readonly traces: Traces };

async function prepare(
  writer: Writer,
  job: Job,
  tail: Tail,
  db: LedgerDeps["store"]["db"] | Transaction,
): Promise<Prepared> {
  const { clock, randomBytes, keys } = writer.deps;
  const runSizes = new Map(job.runIds.map((runId) => [runId, tail.runSizes.get(runId) ?? 0]));
  const before = await recallTraces(db, keys, writer.traces, runSizes);
  const batch = prepareBatch({ origin: writer.origin, nowMs: clock(), randomBytes }, job.lease, job, tail);
  return { batch, ...deriveBatch(keys, before, batch.entries) };
}

/** Once it is stored. */
function remember(writer: Writer, { batch, traces }: Prepared): readonly LedgerEntry[] {
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
function asLedgerError(error: unknown): unknown {
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
