import {
  type Checkpoint,
  CountersignError,
  type LedgerEntry,
  type NewEntry,
  type SealedField,
} from "../domain/index.ts";
import { type Keys, originOf } from "./keys.ts";
import { createHeadRow } from "./ledger-sql.ts";
import { rootOf } from "./merkle.ts";
import {
  checkBatch,
  commitmentsOf,
  type NewBatch,
  type PreparedField,
  placeOf,
  type RunLease,
} from "./prepare-batch.ts";
import { commitRunTexts } from "./seal-committed.ts";
import { readTail } from "./tail.ts";
import { takeTurns } from "./take-turns.ts";
import { asLedgerError, type Job, type LedgerDeps } from "./write-job.ts";

/** The one log of an instance. Any number of processes may have it open; their entries make one history. */
export type Ledger = {
  /** `countersign/<instance id>`. */
  readonly origin: string;
  /**
   * Adds the entries, in order and side by side, with their sealed texts and the spans that they complete: all or nothing,
   * durable when it returns.
   * `within` writes more in the same transaction, after the entries; it costs two to three round trips, and may be called
   * again where the transaction was undone. What no lease is needed for and waits at the same moment is made durable together;
   * each is refused alone. A sealed field
   * belongs to the entry of its action whose `evidence.commitments` names it; to texts of the run as a whole, the first
   * entry of the run is made to commit. Throws `LEDGER_UNAVAILABLE` (where the
   * connection broke at the end the entries may be there), `LEDGER_CONFLICT` where the lease was lost,
   * `LEDGER_ENTRY_TOO_LARGE` before anything is written. An impossible transition is a bug: `Error`.
   */
  append(run: RunLease | null, batch: NewBatch, within?: Job["within"]): Promise<readonly LedgerEntry[]>;
  /** The newest head, read from the database. */
  head(): Promise<Checkpoint>;
};

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
  const write = takeTurns({ deps, origin, tail: null, traces: new Map() });
  return {
    origin,
    append: async (lease, batch, within = null) => write(await sealJob(deps, { lease, within }, batch)),
    head: async () => {
      const { tree } = await readTail(deps.store.db, []).catch((error: unknown) => {
        throw asLedgerError(error);
      });
      return { origin, size: tree.size, rootHash: Buffer.from(rootOf(tree)).toString("base64") };
    },
  };
}

/** Checks what is to be recorded, lets the runs' entries commit to their texts, and seals these. */
async function sealJob(
  { keys, randomBytes }: LedgerDeps,
  how: Pick<Job, "lease" | "within">,
  batch: NewBatch,
): Promise<Job> {
  checkBatch(how.lease, batch.entries);
  const { entries, sealed } = commitRunTexts(batch, randomBytes);
  const fields = await Promise.all(sealed.map((field) => seal(keys, entries, field)));
  return { ...how, entries, fields };
}

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
