import { type Clock, plainEntry } from "../domain/index.ts";
import {
  dropTorn,
  type Ledger,
  openSpool,
  readSpools,
  removeSpool,
  type SpoolReading,
  spoolOutcomes,
} from "../ledger/index.ts";
import { ownerState, processOwner, type Store } from "../store/index.ts";

type SpoolDeps = {
  readonly clock: Clock;
  readonly notice: (line: string) => void;
  readonly store: Store;
  readonly ledger: Ledger;
};

/** The ledger of a worker: what it can't record of an effect that was begun is kept in a file of its own (AUD-54). */
export type SpooledLedger = {
  readonly ledger: Ledger;
  readonly readSpools: () => Promise<SpoolReading>;
};

/** Opens this worker's spool below a folder, and takes away those of earlier ones that are settled. */
export async function openSpooledLedger(
  deps: SpoolDeps,
  folder: string,
  undo: AsyncDisposableStack,
): Promise<SpooledLedger> {
  await tidy(deps, folder, await readSpools(folder));
  const spool = undo.use(await openSpool(folder, processOwner()));
  return { ledger: spoolOutcomes(deps.ledger, spool, deps.clock), readSpools: () => readSpools(folder) };
}

/**
 * Of workers that are gone. A torn end is named, in the log as well, and dropped (AUD-57); a file that names an action that is still
 * `started` stays until it is settled. A worker that lives may write to its own at any moment: that is left alone.
 */
async function tidy({ notice, store, ledger }: SpoolDeps, folder: string, read: SpoolReading): Promise<void> {
  for (const { name, actionIds } of read.files.filter(({ owner }) => ownerState(owner) !== "alive")) {
    for (const { atByte, sizeBytes } of read.torn.filter(({ file }) => file === name)) {
      const evidence = { kind: "spool_torn", file: name, atByte, sizeBytes };
      await ledger.append(null, { entries: [{ ...plainEntry, type: "service", evidence }], sealed: [] });
      await dropTorn(folder, name, atByte);
      notice(`the spool \`${name}\` ended in ${sizeBytes} bytes that were no whole record: they are dropped`);
    }
    if (!(await isAnyStarted(store, actionIds))) await removeSpool(folder, name);
  }
}

async function isAnyStarted(store: Store, actionIds: SpoolReading["files"][number]["actionIds"]): Promise<boolean> {
  if (actionIds.length === 0) return false;
  const started = await store.db
    .selectFrom("actions")
    .select("action_id")
    .where("action_id", "in", [...actionIds])
    .where("state", "=", "started")
    .executeTakeFirst();
  return started !== undefined;
}
