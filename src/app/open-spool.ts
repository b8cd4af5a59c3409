import { type Clock, plainEntry } from "../domain/index.ts";
import { type Ledger, openSpool, readSpools, removeSpool, type SpoolReading, spoolOutcomes } from "../ledger/index.ts";
import { processOwner, type Store } from "../store/index.ts";

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

/** A torn end is named, in the log as well (AUD-57); what names an action that is still `started` stays until it is settled. */
async function tidy(
  { notice, store, ledger }: SpoolDeps,
  folder: string,
  { files, torn }: SpoolReading,
): Promise<void> {
  for (const { file, atByte, sizeBytes } of torn) {
    const evidence = { kind: "spool_torn", file, atByte, sizeBytes };
    await ledger.append(null, { entries: [{ ...plainEntry, type: "service", evidence }], sealed: [] });
    notice(`the spool \`${file}\` ends in ${sizeBytes} bytes that are no whole record: they are dropped`);
  }
  for (const { name, actionIds } of files) if (!(await isAnyStarted(store, actionIds))) await removeSpool(folder, name);
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
