import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ActionId,
  type ActionState,
  type Clock,
  type DecisionId,
  type NewEntry,
  newActionId,
  newDecisionId,
  newRunId,
  type RunId,
} from "../../src/domain/index.ts";
import { type Keys, type Ledger, openKeys, openLedger, type RunLease, sealCommitted } from "../../src/ledger/index.ts";
import type { Store } from "../../src/store/index.ts";
import type { TestStore } from "./test-store.ts";

/** A ledger in a given store, with keys in a folder of its own; a clock that stands still until told. */
export type TestLedger = AsyncDisposable & {
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly keysFolder: string;
  /** Moved by the test. */
  readonly now: { ms: number };
  /** A second one on the same log, as another process would have it. */
  open(store: Store): Promise<Ledger>;
  newRun(fencingToken?: number): Promise<RunLease>;
};

export const startOfTime = Date.UTC(2026, 0, 1);
const ids = { clock: () => startOfTime, randomBytes };
export const newTestActionId = (): ActionId => newActionId(ids);
export const newTestDecisionId = (): DecisionId => newDecisionId(ids);

export async function openTestLedger(store: Store): Promise<TestLedger> {
  const keysFolder = await mkdtemp(join(tmpdir(), "countersign-ledger-keys-"));
  const keys = await openKeys({ randomBytes }, keysFolder);
  const now = { ms: startOfTime };
  const clock: Clock = () => now.ms;
  const open = (where: Store): Promise<Ledger> => openLedger({ store: where, keys, clock, randomBytes });
  return {
    ledger: await open(store),
    keys,
    keysFolder,
    now,
    open,
    newRun: async (fencingToken = 1) => {
      const runId = newRunId(ids);
      await keys.createRun(runId);
      return { runId, fencingToken };
    },
    [Symbol.asyncDispose]: () => rm(keysFolder, { recursive: true, force: true }),
  };
}

/** Makes the log empty again, behind the back of the rules that forbid it: faster than a database for each test. */
export async function emptyLog(store: TestStore): Promise<void> {
  await store.transaction(async (tx) => {
    await store.sql("set local session_replication_role = replica", [], tx);
    const tables = ["ledger_entries", "ledger_nodes", "ledger_head", "run_heads", "actions", "decisions", "sealed"];
    for (const table of [...tables, "authorizations", "intents", "starts", "span_outbox"]) {
      await store.sql(`delete from ${table}`, [], tx);
    }
  });
}

/** An entry of type `turn` of a run, changed where the test says so. */
export function anEntry(runId: RunId | null, changes: Partial<NewEntry> = {}): NewEntry {
  return {
    type: runId === null ? "service" : "turn",
    runId,
    attempt: 0,
    traceId: null,
    actionId: null,
    state: null,
    try: null,
    decisionId: null,
    deliveryId: null,
    parentId: null,
    actor: { kind: "system" },
    evidence: {},
    ...changes,
  };
}

export function aMove(runId: RunId, actionId: ActionId, state: ActionState, changes: Partial<NewEntry> = {}): NewEntry {
  return anEntry(runId, { type: "action", actionId, state, ...changes });
}

/** How an action ends: by itself, denied, or refused at the parse. */
export type ActionEnd = "succeeded" | "denied" | "invalid" | "failed_definite";

export type Texts = { readonly raw: string; readonly canonical: string; readonly result: string };
const defaultTexts: Texts = { raw: '{"path": "a"}', canonical: '{"path":"a"}', result: "1 line" };

/** One action from proposal to rest in the transactions of AUD-4, as the gateway records it. */
export async function recordAction(
  ledger: Ledger,
  lease: RunLease,
  end: ActionEnd = "succeeded",
  texts: Texts = defaultTexts,
): Promise<ActionId> {
  const actionId = newTestActionId();
  const decisionId = newTestDecisionId();
  const { runId } = lease;
  const nonce = randomBytes(32);
  const move = (state: ActionState, changes: Partial<NewEntry> = {}): NewEntry =>
    aMove(runId, actionId, state, changes);
  const text = (fields: Record<string, string>, isNew = false) =>
    sealCommitted(
      actionId,
      { bytes: nonce, isNew },
      Object.fromEntries(Object.entries(fields).map(([field, content]) => [field, Buffer.from(content)])),
    );

  const raw = text({ raw: texts.raw }, true);
  const proposal = { tool: "read_file", rawBytes: texts.raw.length, commitments: raw.commitments };
  await ledger.append(lease, { entries: [move("proposed", { evidence: proposal })], sealed: raw.sealed });
  if (end === "invalid") {
    const evidence = { stage: "parse", code: "duplicate_key", argumentsDigest: "raw:hmac-sha256:00" };
    await ledger.append(lease, { entries: [move("invalid", { evidence })], sealed: [] });
    return actionId;
  }

  const decided = text({ request: "{}" });
  const typed = text({ arguments: texts.canonical });
  const effect = end === "denied" ? "deny" : "allow";
  const decision = anEntry(runId, {
    type: "decision",
    actionId,
    decisionId,
    evidence: { effect, policyIds: [`${effect}-all`], commitments: decided.commitments },
  });
  const evidence = { argumentsDigest: "hmac-sha256:00", commitments: typed.commitments };
  const sealed = [...decided.sealed, ...typed.sealed];
  if (end === "denied") {
    await ledger.append(lease, { entries: [decision, move("denied", { decisionId, evidence })], sealed });
    return actionId;
  }
  const start = [move("authorized", { decisionId, evidence }), move("intent_recorded"), move("started", { try: 1 })];
  await ledger.append(lease, { entries: [decision, ...start], sealed });
  if (end === "failed_definite") {
    await ledger.append(lease, { entries: [move(end, { try: 1, evidence: { errorCode: "not_found" } })], sealed: [] });
    return actionId;
  }
  const result = text({ result: texts.result });
  const outcome = move(end, {
    try: 1,
    evidence: { resultBytes: texts.result.length, commitments: result.commitments },
  });
  await ledger.append(lease, { entries: [outcome], sealed: result.sealed });
  return actionId;
}
