import type { LedgerEntry, RunId } from "../../domain/index.ts";
import type { Store, Transaction } from "../../store/index.ts";
import { entryOf } from "../queries.ts";
import { deriveBatch, type Traces } from "./derive-spans.ts";
import type { TraceIds } from "./span.ts";

/**
 * The traces of the runs as of their first `runSizes` entries. What a process remembers stays true, since no entry is ever
 * changed: only entries that came after it are read. With everything remembered this asks nothing of the database.
 */
export async function recallTraces(
  db: Store["db"] | Transaction,
  ids: TraceIds,
  remembered: Traces,
  runSizes: ReadonlyMap<RunId, number>,
): Promise<Traces> {
  const recalled = new Map<RunId, NonNullable<ReturnType<Traces["get"]>>>();
  for (const [runId, size] of runSizes) {
    const known = remembered.get(runId);
    const usable = known !== undefined && known.size <= size ? known : undefined;
    const start: Traces = usable === undefined ? new Map() : new Map([[runId, usable]]);
    const from = usable?.size ?? 0;
    const missing = from === size ? [] : await readEntries(db, runId, from, size);
    const trace = deriveBatch(ids, start, missing).traces.get(runId);
    if (trace !== undefined) recalled.set(runId, trace);
  }
  return recalled;
}

async function readEntries(
  db: Store["db"] | Transaction,
  runId: RunId,
  from: number,
  end: number,
): Promise<readonly LedgerEntry[]> {
  const rows = await db
    .selectFrom("ledger_entries")
    .select(["body", "index"])
    .where("run_id", "=", runId)
    .where("run_seq", ">=", from)
    .where("run_seq", "<", end)
    .orderBy("run_seq")
    .execute();
  return rows.map(entryOf);
}

/** The newest of the remembered traces, so that a long-lived process does not keep one for each run that it ever wrote to. */
export const trimTraces = (traces: Traces, keepRuns: number): Traces => new Map([...traces].slice(-keepRuns));
