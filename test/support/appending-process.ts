/** Run by a test as a process of its own: records actions on a shared ledger from two writers at once, and ends. */
import { randomBytes } from "node:crypto";
import { newRunId } from "../../src/domain/index.ts";
import { openKeys, openLedger } from "../../src/ledger/index.ts";
import { openStore } from "../../src/store/index.ts";
import { recordAction } from "./test-ledger.ts";

const [home = "", database = "", keysFolder = "", count = "0"] = process.argv.slice(2);
const clock = Date.now;
const deps = { randomBytes, clock, notice: () => undefined };
await using store = await openStore(
  deps,
  { databaseUrl: null, home, databaseUid: null, database },
  AbortSignal.timeout(60_000),
);
const keys = await openKeys(deps, keysFolder);

async function write(): Promise<void> {
  const ledger = await openLedger({ ...deps, store, keys });
  const lease = { runId: newRunId(deps), fencingToken: 1 };
  await keys.createRun(lease.runId);
  for (let done = 0; done < Number(count); done += 1) await recordAction(ledger, lease);
}
await Promise.all([write(), write()]);
