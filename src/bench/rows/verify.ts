import { join } from "node:path";
import { canonicalBytes, type JsonValue, newRunId } from "../../domain/index.ts";
import { type Keys, type Ledger, leafHash, openKeys, openLedger, verifyStored } from "../../ledger/index.ts";
import { openStore, type Store } from "../../store/index.ts";
import { alternate, timed } from "../alternate.ts";
import type { BenchPlace } from "../bench-place.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import { type FloorDatabase, openFloorDatabase } from "../floor-database.ts";
import { actionEntries } from "../sample-entries.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly entries: number }>> = {
  short: { rounds: 1, entries: 1_000 },
  bench: { rounds: 3, entries: 100_000 },
  soak: { rounds: 3, entries: 1_000_000 },
};

/** Actions whose entries are appended at once while the log is filled, and actions of one run. */
const actionsPerAppend = 50;
const actionsPerRun = 500;
const entriesPerPage = 1_000;

/** `audit.md` §12: the whole verification beside reading, parsing, canonicalising and hashing the same entries. */
export const verifyRow: Row = {
  name: "verify",
  title: "full verification beside reading, parsing, canonicalising and hashing",
  measure: async (place, size, signal) => {
    const { rounds, entries } = sizes[size];
    await using log = await openLog(place, signal);
    const filledMs = await timed(() => fill(log, place, entries, signal));
    const measured = await alternate(
      { floor: () => timed(() => readAndHash(log.database)), verify: () => timed(() => verifyAll(log)) },
      rounds,
      signal,
    );
    const { size: count } = await log.ledger.head();
    return [
      figure(`entries a second while ${count} were written`, "1/s", [(1000 * count) / filledMs]),
      figure("read, parse, canonicalise, hash", "ms", measured.floor),
      figure("full verification", "ms", measured.verify),
      ratio("verification / floor", measured.verify, measured.floor, atMost(2)),
    ];
  },
};

type Log = AsyncDisposable & {
  readonly store: Store;
  readonly keys: Keys;
  readonly ledger: Ledger;
  readonly database: FloorDatabase;
};

/** A log of its own, in a database of its own in the same server. */
async function openLog(place: BenchPlace, signal: AbortSignal): Promise<Log> {
  await using undo = new AsyncDisposableStack();
  const { url } = await place.database(); // the server runs from here on
  const options = { databaseUrl: null, home: place.home, databaseUid: null, database: "verified" };
  const store = undo.use(await openStore(place.deps, options, signal));
  const keys = await openKeys(place.deps, join(place.folder, "verified-keys"));
  const ledger = await openLedger({ ...place.deps, store, keys });
  const own = new URL(url);
  own.pathname = "/verified";
  const database = undo.use(await openFloorDatabase(own.href));
  const close = undo.move();
  return { store, keys, ledger, database, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

async function fill(log: Log, { deps }: BenchPlace, count: number, signal: AbortSignal): Promise<void> {
  let runId = newRunId(deps);
  for (let actions = 0, written = 0; written < count; actions += actionsPerAppend) {
    signal.throwIfAborted();
    if (actions % actionsPerRun === 0) {
      runId = newRunId(deps);
      await log.keys.createRun(runId);
    }
    const entries = Array.from({ length: actionsPerAppend }, () => actionEntries(deps, runId)).flat();
    await log.ledger.append({ runId, fencingToken: 1 }, { entries, sealed: [] });
    written += entries.length;
  }
}

async function readAndHash(database: FloorDatabase): Promise<void> {
  const text = "select index, body from ledger_entries where index >= $1 order by index limit $2";
  for (let from = 0; ; from += entriesPerPage) {
    const page = await database.query<{ readonly body: Buffer }>(text, [from, entriesPerPage]);
    for (const { body } of page) leafHash(canonicalBytes(JSON.parse(body.toString("utf8")) as JsonValue));
    if (page.length < entriesPerPage) return;
  }
}

async function verifyAll(log: Log): Promise<void> {
  const { ok, findings } = await verifyStored(log);
  if (!ok) throw new Error(`the measured log does not verify: ${findings[0]?.message}`);
}
