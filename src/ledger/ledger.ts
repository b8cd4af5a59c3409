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
import type { Keys } from "./keys.ts";
import { createHeadRow, insertBatch, lockLedger } from "./ledger-sql.ts";
import { rootOf } from "./merkle.ts";
import {
  checkBatch,
  commitmentsOf,
  type PreparedBatch,
  type PreparedField,
  placeOf,
  prepareBatch,
  type RunLease,
} from "./prepare-batch.ts";
import { readTail, type Tail, trimTail } from "./tail.ts";

export type LedgerDeps = {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
};

export type NewBatch = { readonly entries: readonly NewEntry[]; readonly sealed: readonly SealedField[] };

/** The one log of an instance. Any number of processes may have it open; their entries make one history. */
export type Ledger = {
  /** `countersign/<instance id>`. */
  readonly origin: string;
  /**
   * Adds the entries, in order and side by side, with their sealed texts: all or nothing, durable when it returns.
   * `within` writes more in the same transaction, after the entries; it costs two to three round trips. A sealed field
   * belongs to the entry of its action whose `evidence.commitments` names it. Throws `LEDGER_UNAVAILABLE` (where the
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
  const origin = `countersign/${deps.keys.instanceId}`;
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
  const writer: Writer = { deps, origin, tail: null, turn: Promise.resolve() };
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

/** `tail`: what this process believes the end of the log to be; null where it must ask. `turn`: the append under way. */
type Writer = { readonly deps: LedgerDeps; readonly origin: string; tail: Tail | null; turn: Promise<unknown> };

async function append(
  writer: Writer,
  lease: RunLease | null,
  batch: NewBatch,
  within?: (tx: Transaction) => Promise<void>,
): Promise<readonly LedgerEntry[]> {
  checkBatch(lease, batch.entries);
  const fields = await Promise.all(batch.sealed.map((field) => seal(writer.deps.keys, batch.entries, field)));
  const job: Job = { lease, entries: batch.entries, fields, runIds: runsOf(batch.entries) };
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
      const tail = await recallTail(writer, job);
      const prepared = prepare(writer, job, tail);
      writer.tail = null; // until it is known to be stored
      await insertBatch(writer.deps.store.db, prepared);
      writer.tail = trimTail(prepared.tail, rememberedRuns);
      return prepared.entries;
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
      const batch = prepare(writer, job, await readTail(tx, job.runIds));
      await insertBatch(tx, batch);
      await within?.(tx).catch((error: unknown) => {
        foreign.error = error;
        throw error;
      });
      return batch;
    });
    writer.tail = trimTail(prepared.tail, rememberedRuns);
    return prepared.entries;
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

function prepare(writer: Writer, job: Job, tail: Tail): PreparedBatch {
  const { clock, randomBytes } = writer.deps;
  return prepareBatch({ origin: writer.origin, nowMs: clock(), randomBytes }, job.lease, job, tail);
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
