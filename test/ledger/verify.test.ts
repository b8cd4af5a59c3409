import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Checkpoint, canonicalBytes, type JsonValue, type LedgerEntry } from "../../src/domain/index.ts";
import { type StoredEntry, type Trust, type Verification, verifyLedger, verifyStored } from "../../src/ledger/index.ts";
import { appendLeaves, emptyTree, leafHash, rootOf } from "../../src/ledger/merkle.ts";
import type { Store, Transaction } from "../../src/store/index.ts";
import { type CapturedLog, captureLog, replay } from "../support/captured-log.ts";
import {
  aMove,
  anEntry,
  newTestActionId,
  openTestLedger,
  recordAction,
  startOfTime,
  type TestLedger,
} from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let test: TestLedger;
let honest: CapturedLog;
let checkpoint: Checkpoint;

const trust = (changes: Partial<Trust> = {}): Trust => ({
  origin: test.ledger.origin,
  checkpoints: [],
  unseal: test.keys.open,
  ...changes,
});
const verify = (log: CapturedLog, changes?: Partial<Trust>): Promise<Verification> =>
  verifyLedger(replay(log), trust(changes));
const codesOf = ({ findings }: Verification): string[] => [...new Set(findings.map(({ code }) => code))];
const bodyOf = ({ body }: StoredEntry): LedgerEntry => JSON.parse(Buffer.from(body).toString()) as LedgerEntry;

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
  const [one, other] = [await test.newRun(3), await test.newRun()];
  const sealed = [{ actionId: null, field: "response:1", plaintext: Buffer.from("an answer") }];
  await test.ledger.append(null, { entries: [anEntry(null, { evidence: { kind: "start" } })], sealed: [] });
  await test.ledger.append(one, { entries: [anEntry(one.runId)], sealed });
  await recordAction(test.ledger, one);
  test.now.ms = startOfTime + 1000;
  await recordAction(test.ledger, other, "denied");
  checkpoint = await test.ledger.head();
  await recordAction(test.ledger, one, "invalid");
  test.now.ms = startOfTime - 60_000;
  await recordAction(test.ledger, other, "failed_definite");
  const [actionId, approvalId] = [newTestActionId(), newTestActionId()];
  const asked = aMove(one.runId, actionId, "approval_pending", { evidence: { approvalId } });
  await test.ledger.append(one, { entries: [aMove(one.runId, actionId, "proposed"), asked], sealed: [] });
  honest = await captureLog(store);
}, 60_000);
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** The honest log with other entries, all that follows from them made anew: what someone with the database could write. */
function rewrite(entries: readonly LedgerEntry[]): CapturedLog {
  const bodies = entries.map((entry) => canonicalBytes(entry as unknown as JsonValue));
  const { nodes } = appendLeaves(emptyTree, bodies.map(leafHash));
  const stored = entries.map((entry, at): StoredEntry => {
    const body = bodies[at] ?? Buffer.alloc(0);
    return { index: at, body, leafHash: leafHash(body), fencingToken: entry.fencingToken, copies: entry };
  });
  const { origin } = test.ledger;
  return { ...honest, head: { origin, size: entries.length }, entries: stored, nodes: [...nodes] };
}

const withEntry = (at: number, change: (entry: LedgerEntry) => Partial<LedgerEntry>): CapturedLog =>
  rewrite(honest.entries.map(bodyOf).map((entry, index) => (index === at ? { ...entry, ...change(entry) } : entry)));
const find = (is: (entry: LedgerEntry) => boolean): number => honest.entries.map(bodyOf).findIndex(is);

describe("an honest log", () => {
  it("has no finding, as stored and as captured, with and without keys", async () => {
    const head = await test.ledger.head();

    const stored = await verifyStored({ store, keys: test.keys }, [checkpoint]);

    expect(stored).toEqual({ ...head, ok: true, reach: checkpoint.size, findings: [], findingCount: 0 });
    expect(await verify(honest)).toEqual({ ...stored, reach: null });
    expect(await verify(honest, { unseal: null })).toMatchObject({ ok: true, findings: [] });
    expect(await verify(honest, { origin: null })).toMatchObject({ ok: true });
  });
});

/** The store as this transaction sees it. */
function seenFrom(tx: Transaction): Store {
  const inside = { execute: (work: (tx: Transaction) => unknown) => work(tx) };
  const transaction = () => ({ setIsolationLevel: () => ({ setAccessMode: () => inside }) });
  return { ...store, db: { transaction } } as unknown as Store;
}

describe("a change of what is stored", () => {
  /** Every place in the log that holds a value: table, row, column. */
  type Place = { row: Record<string, unknown>; column: string };
  function placesOf(log: CapturedLog): Place[] {
    const columns = (row: object): Place[] =>
      Object.keys(row).map((column) => ({ row: row as Record<string, unknown>, column }));
    return [
      ...(log.head === null ? [] : columns(log.head)),
      ...log.entries.flatMap(({ copies, ...row }, at) => [
        ...columns(row).map(({ column }) => ({ row: log.entries[at] as unknown as Record<string, unknown>, column })),
        ...columns(copies),
      ]),
      ...log.nodes.flatMap(columns),
      ...log.texts.flatMap(columns),
      ...log.derived.flatMap((row) => columns(row.columns)),
    ];
  }

  function spoilBytes(value: Uint8Array, at: number): Uint8Array {
    const bytes = Buffer.from(value);
    bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << (at % 8));
    return bytes;
  }

  function spoilText(value: string, at: number): string {
    const place = at % (value.length + 1);
    const other = String.fromCharCode((value.charCodeAt(place) || 64) ^ 1);
    return value.slice(0, place) + other + value.slice(place + 1);
  }

  function spoil(value: unknown, at: number): unknown {
    if (value instanceof Uint8Array) return spoilBytes(value, at);
    if (typeof value === "string") return spoilText(value, at);
    if (Array.isArray(value)) return [...(value as unknown[]), "more"];
    return typeof value === "number" ? value + 1 + (at % 5) : "x";
  }

  it("is found whatever byte of whatever column it is", async () => {
    const count = placesOf(honest).length;
    await fc.assert(
      fc.asyncProperty(fc.nat(count - 1), fc.nat(), async (which, at) => {
        const log = structuredClone(honest);
        const place = placesOf(log)[which] as Place;
        place.row[place.column] = spoil(place.row[place.column], at);

        const found = await verify(log);

        expect(found.ok, `${place.column} of ${JSON.stringify(place.row)}`).toBe(false);
        expect(found.findingCount).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  }, 60_000);

  it("is found where a row is taken away, doubled, or moved to another place", async () => {
    type Table = "entries" | "nodes" | "texts" | "derived";
    const tables = (["entries", "nodes", "texts", "derived"] as const).filter((table) => honest[table].length > 0);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<Table>(...tables),
        fc.nat(),
        fc.nat(),
        fc.constantFrom("delete", "double", "swap"),
        async (table, a, b, how) => {
          const log = structuredClone(honest);
          const rows = log[table] as unknown[];
          const [one, other] = [a % rows.length, b % rows.length];
          fc.pre(how !== "swap" || (table === "entries" && one !== other));
          if (how === "delete") rows.splice(one, 1);
          if (how === "double") rows.push(rows[one]);
          if (how === "swap") {
            const [first, second] = [log.entries[one], log.entries[other]] as [StoredEntry, StoredEntry];
            log.entries[one] = { ...second, index: first.index };
            log.entries[other] = { ...first, index: second.index };
          }

          expect((await verify(log)).ok, `${how} ${table} ${one}`).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  }, 60_000);

  it("is found in the database itself, past the rules that forbid it", async () => {
    const places = [
      ["ledger_entries", "state = 'succeeded'", "state = 'invalid'", "column_differs"],
      ["ledger_entries", "fencing_token = 9", "fencing_token = 3", "column_differs"],
      ["ledger_nodes", "hash = sha256('x')", "level = 1 and position = 0", "node_differs"],
      [
        "sealed",
        "ciphertext = set_byte(ciphertext, 3, get_byte(ciphertext, 3) # 1)",
        "field = 'arguments'",
        "text_unreadable",
      ],
      ["sealed", "commitment = 'sha256-nonce:00'", "field = 'raw'", "text_differs"],
      ["actions", "state = 'succeeded'", "state = 'denied'", "derived_differs"],
      ["decisions", "policy_ids = '{}'", "effect = 'deny'", "derived_differs"],
      ["ledger_head", "size = size - 1", "true", "head_size_differs"],
    ] as const;
    for (const [table, change, where, code] of places) {
      const rollBack = new Error("undo");
      await store
        .transaction(async (tx) => {
          await store.sql("set local session_replication_role = replica", [], tx);
          const changed = await store.sql(`update ${table} set ${change} where ${where} returning 1`, [], tx);
          expect(changed.length, table).toBeGreaterThan(0);
          const found = await verifyStored({ store: seenFrom(tx), keys: test.keys });
          expect(codesOf(found)).toContain(code);
          throw rollBack;
        })
        .catch((error: unknown) => {
          if (error !== rollBack) throw error;
        });
    }
  });
});

// C-4: the tree alone can't tell that its end was cut off; a head that was kept elsewhere can.
describe("a cut or rewritten end", () => {
  const cut = (size: number): CapturedLog => rewrite(honest.entries.slice(0, size).map(bodyOf));

  it.each([
    ["the last two entries", () => checkpoint.size - 2],
    ["all entries", () => 0],
  ])("is found against an older checkpoint: %s", async (_what, size) => {
    const found = await verify(cut(size()), { checkpoints: [checkpoint] });

    expect(codesOf(found)).toContain("cut_end");
    expect(found.reach).toBeNull();
  });

  it("is found where the end was written anew at the same length", async () => {
    const log = withEntry(checkpoint.size - 1, () => ({ evidence: { other: true } }));

    expect(codesOf(await verify(log, { checkpoints: [checkpoint] }))).toContain("history_rewritten");
    expect(codesOf(await verify(log))).not.toContain("history_rewritten");
  });

  it("is found where the whole log was begun anew under another name", async () => {
    const origin = "countersign/00";
    const entries = honest.entries.map((entry) => ({ ...bodyOf(entry), origin }));
    const log = { ...rewrite(entries), head: { origin, size: entries.length } };

    expect(codesOf(await verify(log))).toContain("other_instance");
    expect(codesOf(await verify(log, { origin: null, checkpoints: [checkpoint] }))).toContain("other_instance");
  });

  it("is no finding where the log only grew", async () => {
    expect(await verify(honest, { checkpoints: [checkpoint] })).toMatchObject({ ok: true, reach: checkpoint.size });
  });
});

describe("a history that cannot have been", () => {
  const isState = (state: string) => (entry: LedgerEntry) => entry.state === state;

  it.each<[string, () => CapturedLog, string]>([
    [
      "a body that is not canonical",
      () => {
        const log = structuredClone(honest);
        const body = Buffer.concat([Buffer.from(" "), honest.entries[2]?.body ?? Buffer.alloc(0)]);
        log.entries[2] = { ...(log.entries[2] as StoredEntry), body, leafHash: leafHash(body) };
        return log;
      },
      "body_not_canonical",
    ],
    [
      "a body with one key more",
      () => withEntry(2, () => ({ extra: 1 }) as unknown as Partial<LedgerEntry>),
      "body_malformed",
    ],
    [
      "a gap in a run's numbers",
      () => withEntry(find(isState("denied")), ({ runSeq }) => ({ runSeq: (runSeq ?? 0) + 1 })),
      "run_seq_gap",
    ],
    [
      "an outcome without a start",
      () => withEntry(find(isState("denied")), () => ({ state: "succeeded" })),
      "outcome_without_start",
    ],
    [
      "a start without an intent",
      () => withEntry(find(isState("intent_recorded")), () => ({ state: "started", try: 1 })),
      "effect_without_intent",
    ],
    [
      "an authorization by a decision that denies",
      () =>
        withEntry(
          find((entry) => entry.type === "decision"),
          ({ evidence }) => ({ evidence: { ...evidence, effect: "deny" } }),
        ),
      "effect_without_decision",
    ],
    [
      "an authorization by no decision",
      () => withEntry(find(isState("authorized")), () => ({ decisionId: null })),
      "effect_without_decision",
    ],
    [
      "a decision about nothing proposed",
      () =>
        withEntry(
          find((entry) => entry.type === "decision"),
          () => ({ actionId: newTestActionId() }),
        ),
      "decision_without_proposal",
    ],
    [
      "a state after the end",
      () => withEntry(find(isState("invalid")), () => ({ state: "reconciling" })),
      "impossible_transition",
    ],
    ["a try left out", () => withEntry(find(isState("started")), () => ({ try: 2 })), "try_gap"],
    [
      "an older lease after a newer one",
      () => withEntry(find(isState("invalid")), () => ({ fencingToken: 2 })),
      "stale_fencing_token",
    ],
    ["time running backwards", () => withEntry(3, () => ({ time: "2025-01-01T00:00:00.000Z" })), "time_backwards"],
    [
      "an approval that was never granted",
      () =>
        withEntry(find(isState("authorized")), ({ evidence }) => ({
          evidence: { ...evidence, approvalId: newTestActionId() },
        })),
      "approval_not_live",
    ],
    ["an entry of another instance", () => withEntry(4, () => ({ origin: "countersign/00" })), "other_instance"],
  ])("is found: %s", async (_what, spoilt, code) => {
    expect(codesOf(await verify(spoilt()))).toContain(code);
  });

  it("is found: an approval used twice", async () => {
    const { runId } = bodyOf(honest.entries[1] as StoredEntry);
    const approvalId = newTestActionId();
    const entries: LedgerEntry[] = [];
    for (const actionId of [newTestActionId(), newTestActionId()]) {
      const steps = ["proposed", "approval_pending", "approval_granted", "authorized"] as const;
      for (const state of steps) {
        const index = entries.length;
        const move = aMove(runId as NonNullable<typeof runId>, actionId, state, { evidence: { approvalId } });
        const time = "2026-01-01T00:00:00.000Z";
        const id = bodyOf(honest.entries[0] as StoredEntry).id;
        entries.push({
          ...move,
          version: 1,
          id,
          origin: test.ledger.origin,
          index,
          runSeq: index,
          fencingToken: null,
          time,
        });
      }
    }

    expect(codesOf(await verify(rewrite(entries)))).toContain("approval_used_twice");
  });

  it("is found: sealed arguments that are not what was committed to", async () => {
    const text = honest.texts.find((one) => one.field === "arguments");
    const { runId, actionId, field, ...row } = text as NonNullable<typeof text>;
    const forged = await test.keys.seal({ runId, actionId, field }, Buffer.from('{"path":"b"}'));
    const texts = honest.texts.map((one) => (one === text ? { ...row, runId, actionId, field, ...forged } : one));

    expect(codesOf(await verify({ ...honest, texts }))).toEqual(["commitment_differs"]);
  });

  it("is found: keys gone without an entry that says so; with one, the log stays green", async () => {
    const gone = (): Promise<null> => Promise.resolve(null);
    const runs = new Set(honest.texts.map(({ runId }) => runId));
    const last = bodyOf(honest.entries.at(-1) as StoredEntry);
    const erasures = [...runs].map((runId, at) => ({
      ...last,
      type: "service" as const,
      runId: null,
      runSeq: null,
      fencingToken: null,
      actionId: null,
      state: null,
      index: last.index + 1 + at,
      evidence: { kind: "erased", runId },
    }));

    expect(codesOf(await verify(honest, { unseal: gone }))).toEqual(["erasure_without_entry"]);
    expect(await verify(rewrite([...honest.entries.map(bodyOf), ...erasures]), { unseal: gone })).toMatchObject({
      ok: true,
    });
  });
});

describe("the root that is reported", () => {
  it("is computed from the bodies and not read from the tree that is stored", async () => {
    const log = structuredClone(honest);
    for (const node of log.nodes) node.hash = Buffer.alloc(32);
    const { tree } = appendLeaves(
      emptyTree,
      honest.entries.map(({ body }) => leafHash(body)),
    );

    const found = await verify(log);

    expect(found.rootHash).toBe(Buffer.from(rootOf(tree)).toString("base64"));
    expect(codesOf(found)).toEqual(["node_differs"]);
  });
});
