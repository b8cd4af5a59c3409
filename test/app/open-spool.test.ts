import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSpooledLedger } from "../../src/app/open-spool.ts";
import { openSpool } from "../../src/ledger/index.ts";
import { processOwner } from "../../src/store/index.ts";
import { newTestActionId, openTestLedger, startOfTime, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let held: TestLedger;
let folder: string;
const notices: string[] = [];

beforeEach(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  folder = mkdtempSync(join(tmpdir(), "countersign-spool-"));
  notices.length = 0;
});
afterEach(async () => {
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** As a worker begins: whoever was there before has left what it left. */
async function begin(): Promise<void> {
  await using undo = new AsyncDisposableStack();
  const deps = {
    store,
    ledger: held.ledger,
    clock: () => startOfTime,
    notice: (line: string) => void notices.push(line),
  };
  await openSpooledLedger(deps, folder, undo);
}

const anOutcome = () => ({
  runId: "0190a0a0-0000-7000-8000-000000000001" as never,
  actionId: newTestActionId(),
  try: 1,
  state: "succeeded" as const,
  evidence: {},
  time: new Date(startOfTime).toISOString(),
});

/** A worker of this machine that is gone: no process has this pid and start time. */
const gone = processOwner().replace(/:\d+:\d+$/, ":4194304:1");

const tornOnRecord = async (): Promise<number> =>
  (await store.sql("select 1 from ledger_entries where convert_from(body, 'UTF8') like '%spool_torn%'")).length;

describe("the spools that a worker finds as it begins (AUD-54, AUD-57)", () => {
  it("of one that is gone: a torn end is named once and dropped, what is settled is taken away", async () => {
    {
      await using spool = await openSpool(folder, gone);
      await spool.keep(anOutcome());
      appendFileSync(spool.file, "torn");
    }

    await begin();
    await begin();

    expect(notices).toEqual([expect.stringMatching(/^the spool `.*4194304.*` ended in 4 bytes/)]);
    expect(await tornOnRecord()).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("of one that lives are left alone, empty or torn: it may write at any moment", async () => {
    await using other = await openSpool(folder, processOwner());
    const { file } = other;
    appendFileSync(file, "half a rec");

    await begin();

    expect(statSync(file).size).toBe(10);
    expect(notices).toEqual([]);
    expect(await tornOnRecord()).toBe(0);
  });
});
