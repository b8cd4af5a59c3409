import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { CountersignError, canonicalBytes, type JsonValue, type LedgerEntry } from "../../src/domain/index.ts";
import { openKeys, openLedger, readForVerification, readRunTexts, verifyLedger } from "../../src/ledger/index.ts";
import { appendLeaves, emptyTree, leafHash, rootOf } from "../../src/ledger/merkle.ts";
import { advisoryLocks, type Store } from "../../src/store/index.ts";
import {
  aMove,
  anEntry,
  emptyLog,
  newTestActionId,
  newTestDecisionId,
  openTestLedger,
  recordAction,
  startOfTime,
  type TestLedger,
} from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

type Row = { index: number; body: Buffer; leaf_hash: Buffer; run_seq: number | null; fencing_token: number | null };

let store: TestStore;
let test: TestLedger;

const rows = (): Promise<readonly Row[]> => store.sql<Row>("select * from ledger_entries order by index");
const verify = (where: Store = store) =>
  readForVerification(where, (log) =>
    verifyLedger(log, { origin: test.ledger.origin, checkpoints: [], unseal: test.keys.open }),
  );
const bodyOf = ({ body }: Row): LedgerEntry => JSON.parse(body.toString()) as LedgerEntry;

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
});
beforeEach(async () => {
  await emptyLog(store);
  test.now.ms = startOfTime;
  test = Object.assign(test, { ledger: await test.open(store) });
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

describe("append", () => {
  it("stores the canonical bytes that it hashes, with a dense index and a dense number in each run", async () => {
    const [one, other] = [await test.newRun(), await test.newRun(7)];
    const evidence = { b: 1, a: { nested: ["é", 2.5] } };

    const added = await test.ledger.append(one, {
      entries: [anEntry(one.runId, { evidence }), anEntry(null)],
      sealed: [],
    });
    await test.ledger.append(other, { entries: [anEntry(other.runId)], sealed: [] });
    await test.ledger.append(one, { entries: [anEntry(one.runId), anEntry(one.runId)], sealed: [] });

    const stored = await rows();
    expect(added).toEqual(stored.slice(0, 2).map(bodyOf));
    expect(stored.map(({ index, run_seq, fencing_token }) => [index, run_seq, fencing_token])).toEqual([
      [0, 0, 1],
      [1, null, null],
      [2, 0, 7],
      [3, 1, 1],
      [4, 2, 1],
    ]);
    for (const row of stored) {
      expect(row.body.equals(canonicalBytes(bodyOf(row) as unknown as JsonValue))).toBe(true);
      expect(row.leaf_hash.equals(leafHash(row.body))).toBe(true);
    }
    const { tree } = appendLeaves(
      emptyTree,
      stored.map(({ leaf_hash }) => leaf_hash),
    );
    const rootHash = Buffer.from(rootOf(tree)).toString("base64");
    expect(await test.ledger.head()).toEqual({ origin: test.ledger.origin, size: 5, rootHash });
    expect(await verify()).toMatchObject({ ok: true, size: 5, rootHash, findings: [] });
  });

  it("takes one round trip once the end of the log is known", async () => {
    let statements = 0;
    const counted = await test.open(
      Object.assign(Object.create(store) as Store, {
        log: store.log.withPlugin({
          transformQuery: ({ node }) => node,
          transformResult: ({ result }) => {
            statements += 1;
            return Promise.resolve(result);
          },
        }),
      }),
    );
    const lease = await test.newRun();
    await recordAction(counted, lease);
    statements = 0;

    await recordAction(counted, lease);

    expect(statements).toBe(3);
  });

  it("refuses an entry over 16 KiB with its code before anything is written", async () => {
    const lease = await test.newRun();
    const entries = [anEntry(lease.runId), anEntry(lease.runId, { evidence: { text: "x".repeat(16 * 1024) } })];

    await expect(test.ledger.append(lease, { entries, sealed: [] })).rejects.toMatchObject({
      code: "LEDGER_ENTRY_TOO_LARGE",
      details: { limitBytes: 16384 },
    });

    expect(await rows()).toEqual([]);
  });

  it.each([
    ["known to this process", false],
    ["made by another process", true],
  ])("takes an impossible transition of an action %s for a bug and writes nothing", async (_who, isForeign) => {
    const lease = await test.newRun();
    const actionId = newTestActionId();
    await test.ledger.append(lease, { entries: [aMove(lease.runId, actionId, "proposed")], sealed: [] });
    const ledger = isForeign ? await test.open(store) : test.ledger;

    const start = ledger.append(lease, { entries: [aMove(lease.runId, actionId, "started", { try: 1 })], sealed: [] });

    const error = await start.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(CountersignError);
    expect(await rows()).toHaveLength(1);
    await test.ledger.append(lease, { entries: [aMove(lease.runId, actionId, "cancelled")], sealed: [] });
    expect(await verify()).toMatchObject({ ok: true, size: 2 });
  });

  it("refuses a worker whose lease was lost (AUD-7)", async () => {
    const old = await test.newRun(1);
    await test.ledger.append(old, { entries: [anEntry(old.runId)], sealed: [] });
    const newer = await test.open(store);
    await newer.append({ ...old, fencingToken: 2 }, { entries: [anEntry(old.runId)], sealed: [] });

    await expect(test.ledger.append(old, { entries: [anEntry(old.runId)], sealed: [] })).rejects.toMatchObject({
      code: "LEDGER_CONFLICT",
    });

    expect(await rows()).toHaveLength(2);
    expect(await verify()).toMatchObject({ ok: true });
  });

  it("keeps every sealed text out of the database", async () => {
    const lease = await test.newRun();
    const canary = "ghp_canary-k3y";
    await recordAction(test.ledger, lease, "succeeded", { raw: canary, canonical: canary, result: canary });

    const tables = await store.sql<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public'",
    );
    const dump = await Promise.all(tables.map(({ name }) => store.sql(`select * from ${name}`)));

    const text = dump.flat().map((row) =>
      Object.values(row as object)
        .map((value) => (Buffer.isBuffer(value) ? value.toString("latin1") : JSON.stringify(value)))
        .join(),
    );
    expect(text.join()).toContain("countersign/");
    expect(text.join()).not.toContain(canary);
    expect(await verify()).toMatchObject({ ok: true });
  });

  it("refuses a text of an action that no entry commits to: it could be changed unseen", async () => {
    const lease = await test.newRun();
    const actionId = newTestActionId();
    const sealed = [{ actionId, field: "result", plaintext: Buffer.from("x") }];
    const entries = [aMove(lease.runId, actionId, "proposed")];

    await expect(test.ledger.append(lease, { entries, sealed })).rejects.toThrow("commits to");
  });

  it("commits by itself to texts of the run as a whole", async () => {
    const lease = await test.newRun();
    const sealed = ["response:1", "summary"].map((field) => ({ actionId: null, field, plaintext: Buffer.from(field) }));

    const [entry] = await test.ledger.append(lease, { entries: [anEntry(lease.runId)], sealed });

    const commitment = expect.stringMatching(/^sha256-nonce:[0-9a-f]{64}$/);
    expect(entry?.evidence).toEqual({ commitments: { "response:1": commitment, summary: commitment } });
    expect(await readRunTexts({ store, keys: test.keys }, lease.runId, "summary")).toEqual([
      { actionId: null, field: "summary", index: 0, bytes: Buffer.from("summary") },
    ]);
    expect(await verify()).toMatchObject({ ok: true });
  });

  it("writes what `within` writes in the same transaction, and nothing where that fails", async () => {
    const lease = await test.newRun();
    const own = new Error("my own");
    const entries = [anEntry(lease.runId)];

    await test.ledger.append(lease, { entries, sealed: [] }, async (tx) => {
      await store.sql("update service_state set paused = true", [], tx);
    });
    const failing = test.ledger.append(lease, { entries, sealed: [] }, async (tx) => {
      await store.sql("update service_state set paused = false", [], tx);
      throw own;
    });

    await expect(failing).rejects.toBe(own);
    expect(await store.sql("select paused from service_state")).toEqual([{ paused: true }]);
    expect(await rows()).toHaveLength(1);
    await test.ledger.append(lease, { entries, sealed: [] });
    expect(await verify()).toMatchObject({ ok: true, size: 2 });
  });

  it("says LEDGER_UNAVAILABLE when the connection breaks, and goes on when it is back", async () => {
    const lease = await test.newRun();
    const entries = [anEntry(lease.runId)];
    await test.ledger.append(lease, { entries, sealed: [] });
    await using other = await openTestStore({ database: store.database });

    await other.transaction(async (tx) => {
      await other.sql("select pg_advisory_xact_lock($1)", [advisoryLocks.ledger], tx);
      const waiting = expect(test.ledger.append(lease, { entries, sealed: [] })).rejects.toMatchObject({
        code: "LEDGER_UNAVAILABLE",
        retryable: true,
      });
      const kill =
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())";
      while ((await other.sql(kill, [], tx)).length === 0) await new Promise(setImmediate);
      await waiting;
    });

    await test.ledger.append(lease, { entries, sealed: [] });
    expect(await verify()).toMatchObject({ ok: true, size: 2 });
  });

  it("says LEDGER_UNAVAILABLE when the log can't be written, and does not write part of a batch", async () => {
    const lease = await test.newRun();
    await store.sql("alter table sealed rename to sealed_away");

    await expect(recordAction(test.ledger, lease)).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
      details: { sqlstate: "42P01" },
    });

    await store.sql("alter table sealed_away rename to sealed");
    expect(await rows()).toEqual([]);
    await recordAction(test.ledger, lease);
    expect(await verify()).toMatchObject({ ok: true });
  });

  it("never lets time run backwards unexplained: small steps are held, larger ones are an entry (AUD-11)", async () => {
    const lease = await test.newRun();
    const append = () => test.ledger.append(lease, { entries: [anEntry(lease.runId)], sealed: [] });

    await append();
    test.now.ms = startOfTime - 4000;
    await append();
    test.now.ms = startOfTime - 60_000;
    const [step] = await append();

    expect(step).toMatchObject({ type: "service", evidence: { kind: "clock_step" }, time: "2025-12-31T23:59:00.000Z" });
    expect((await rows()).map((row) => bodyOf(row).time)).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:00:00.000Z",
      "2025-12-31T23:59:00.000Z",
      "2025-12-31T23:59:00.000Z",
    ]);
    expect(await verify()).toMatchObject({ ok: true });
  });
});

describe("a clock that was set while this process had the log open (AUD-11)", () => {
  it("is on record before what came after it, forward as well; a night without work is not", async () => {
    const steady = { ms: 0 };
    const clocks = { clock: () => test.now.ms, steadyClock: () => steady.ms };
    const ledger = await openLedger({ store, keys: test.keys, ...clocks, randomBytes });
    const lease = await test.newRun();
    const append = () => ledger.append(lease, { entries: [anEntry(lease.runId)], sealed: [] });
    const night = 8 * 3_600_000;

    await append();
    test.now.ms += night;
    steady.ms += night;
    expect(await append()).toHaveLength(1);
    test.now.ms += 4_000; // as much as two machines' clocks may differ
    expect(await append()).toHaveLength(1);
    test.now.ms += 60_000;
    const [step] = await append();
    expect(await append()).toHaveLength(1); // said once

    const to = startOfTime + night + 64_000;
    const evidence = {
      kind: "clock_step",
      from: new Date(to - 60_000).toISOString(),
      to: new Date(to).toISOString(),
    };
    expect(step).toMatchObject({ type: "service", evidence });
    expect(await verify()).toMatchObject({ ok: true });
  });
});

describe("openLedger", () => {
  it("refuses the keys of another instance", async () => {
    const keys = await openKeys({ randomBytes: (count) => new Uint8Array(count).fill(1) }, `${test.keysFolder}/other`);

    const opening = openLedger({ store, keys, clock: () => 0, randomBytes: (count) => new Uint8Array(count) });

    await expect(opening).rejects.toMatchObject({ code: "KEYS_UNUSABLE", details: { found: test.ledger.origin } });
  });
});

describe("several writers", () => {
  let home: string;
  beforeAll(() => {
    home = inject("storeHome");
  });

  // C-2, C-3: appends at once on an empty ledger make one dense history that verifies.
  it("make one history: 2 in this process and 2 in each of 2 others", async () => {
    const script = new URL("../support/appending-process.ts", import.meta.url).pathname;
    const runProcess = () =>
      promisify(execFile)(process.execPath, [script, home, store.database, test.keysFolder, "5"]);
    const write = async (): Promise<void> => {
      const ledger = await test.open(store);
      const lease = await test.newRun();
      test.now.ms = Date.now();
      for (let done = 0; done < 5; done += 1)
        await recordAction(ledger, lease, done % 2 === 0 ? "succeeded" : "denied");
    };

    await Promise.all([runProcess(), runProcess(), write(), write()]);

    const perWriter = { ours: 2 * (3 * 6 + 2 * 3), theirs: 4 * 5 * 6 };
    expect(await verify()).toMatchObject({ ok: true, findings: [], size: perWriter.ours + perWriter.theirs });
  }, 60_000);

  it("each get the places of their own entries, however many appends one process has open", async () => {
    const lease = await test.newRun();
    const other = await test.open(store);

    const added = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        (at % 2 === 0 ? other : test.ledger).append(lease, {
          entries: [anEntry(lease.runId, { evidence: { at } })],
          sealed: [],
        }),
      ),
    );

    const stored = await rows();
    expect(stored.map(({ index }) => index)).toEqual(Array.from({ length: 60 }, (_, index) => index));
    for (const entry of added.flat()) {
      expect(bodyOf(stored[entry.index] as Row)).toEqual(entry);
    }
    expect(await verify()).toMatchObject({ ok: true, size: 60 });
  });
});

describe("decisions", () => {
  it("must allow before an action is authorized", async () => {
    const lease = await test.newRun();
    const [actionId, decisionId] = [newTestActionId(), newTestDecisionId()];
    const { runId } = lease;
    await test.ledger.append(lease, { entries: [aMove(runId, actionId, "proposed")], sealed: [] });
    const denied = anEntry(runId, {
      type: "decision",
      actionId,
      decisionId,
      evidence: { effect: "deny", policyIds: [] },
    });

    const authorized = aMove(runId, actionId, "authorized", { decisionId });

    await expect(test.ledger.append(lease, { entries: [denied, authorized], sealed: [] })).rejects.toThrow("23503");
    await expect(test.ledger.append(lease, { entries: [authorized], sealed: [] })).rejects.toThrow("23503");
    expect(await rows()).toHaveLength(1);
  });
});
