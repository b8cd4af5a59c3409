import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isCountersignError } from "../../src/domain/index.ts";
import {
  inclusionProof,
  leafHash,
  proofReader,
  type RunLease,
  readActionTexts,
  readNonce,
  showAction,
  showRun,
  verifyInclusion,
} from "../../src/ledger/index.ts";
import {
  aMove,
  anEntry,
  newTestActionId,
  newTestDecisionId,
  openTestLedger,
  recordAction,
  startOfTime,
  type TestLedger,
} from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let test: TestLedger;
let lease: RunLease;

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
  lease = await test.newRun();
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

describe("audit show", () => {
  it("tells what was proposed, decided and done of one action, from the entries alone", async () => {
    test.now.ms = startOfTime;
    const actionId = await recordAction(test.ledger, lease);

    const shown = await showAction(store, actionId);

    expect(shown).toMatchObject({
      run_id: lease.runId,
      actions: [
        {
          action_id: actionId,
          tool: "read_file",
          state: "succeeded",
          decision: "allow",
          policy_ids: ["allow-all"],
          arguments_digest: "hmac-sha256:00",
          duration_ms: 0,
          event: {
            actor: "system",
            action: "read_file",
            allowed: true,
            arguments_digest: "hmac-sha256:00",
            outcome: "ok",
          },
          states: ["proposed", "authorized", "intent_recorded", "started", "succeeded"].map((state) => ({
            state,
            time: "2026-01-01T00:00:00.000Z",
          })),
        },
      ],
    });
  });

  it("reads the event of each way out back after a restart (AUD-9)", async () => {
    const ends = ["succeeded", "denied", "invalid", "failed_definite"] as const;
    const actions = await Promise.all(ends.map((end) => recordAction(test.ledger, lease, end)));
    await using again = await openTestStore({ database: store.database });

    const events = await Promise.all(
      actions.map(async (actionId) => (await showAction(again, actionId))?.actions[0]?.event),
    );

    expect(events.map((event) => [event?.allowed, event?.outcome, event?.arguments_digest])).toEqual([
      [true, "ok", "hmac-sha256:00"],
      [false, "denied", "hmac-sha256:00"],
      [null, "parse:duplicate_key", "raw:hmac-sha256:00"],
      [true, "error:not_found", "hmac-sha256:00"],
    ]);
  });

  it.each([
    ["succeeded", { code: "timed_out" }, "error:timed_out"],
    ["succeeded", { code: null }, "ok"],
    ["unknown", { cause: "reset" }, "unknown"],
  ] as const)("words an action that is %s with %o as %s", async (state, evidence, outcome) => {
    const actionId = await startedAction();
    await test.ledger.append(lease, {
      entries: [aMove(lease.runId, actionId, state, { try: 1, evidence })],
      sealed: [],
    });

    expect((await showAction(store, actionId))?.actions[0]?.event.outcome).toBe(outcome);
  });

  it("words what was cancelled, and what was reconciled by what was found", async () => {
    const cancelled = newTestActionId();
    const move = aMove(lease.runId, cancelled, "cancelled", { evidence: { cause: "budget" } });
    await test.ledger.append(lease, { entries: [aMove(lease.runId, cancelled, "proposed"), move], sealed: [] });
    const lost = await startedAction();
    const moves = (["unknown", "reconciling", "reconciled_not_applied"] as const).map((state) =>
      aMove(lease.runId, lost, state, { try: 1 }),
    );
    await test.ledger.append(lease, { entries: moves, sealed: [] });

    const outcomes = await Promise.all(
      [cancelled, lost].map(async (actionId) => (await showAction(store, actionId))?.actions[0]?.event.outcome),
    );

    expect(outcomes).toEqual(["cancelled:budget", "error:not_applied"]);
  });

  it("lists the actions of a run in the order of their proposal, and knows no run that is not there", async () => {
    const own = await test.newRun();
    await test.ledger.append(own, { entries: [anEntry(own.runId)], sealed: [] });
    const first = await recordAction(test.ledger, own, "denied");
    const second = await recordAction(test.ledger, own);

    expect((await showRun(store, own.runId))?.actions.map(({ action_id }) => action_id)).toEqual([first, second]);
    expect(await showRun(store, (await test.newRun()).runId)).toBeNull();
    expect(await showAction(store, newTestActionId())).toBeNull();
  });

  it("opens an action's texts on the operator's machine", async () => {
    const texts = { raw: '{ "path":"ü"}', canonical: '{"path":"ü"}', result: "done" };
    const actionId = await recordAction(test.ledger, lease, "succeeded", texts);

    const opened = await readActionTexts({ store, keys: test.keys }, actionId);

    expect(Object.fromEntries(opened.map(({ field, bytes }) => [field, Buffer.from(bytes ?? []).toString()]))).toEqual({
      raw: texts.raw,
      request: "{}",
      arguments: texts.canonical,
      result: texts.result,
    });
    expect((await readNonce({ store, keys: test.keys }, actionId))?.byteLength).toBe(32);
  });

  it("reads what happened from the hashed bytes and not from a column beside them", async () => {
    const actionId = await recordAction(test.ledger, lease, "denied");
    await store.transaction(async (tx) => {
      await store.sql("set local session_replication_role = replica", [], tx);
      await store.sql(
        "update ledger_entries set state = 'succeeded' where action_id = $1 and state = 'denied'",
        [actionId],
        tx,
      );
    });

    expect((await showAction(store, actionId))?.actions[0]?.state).toBe("denied");
  });

  it("says so where a stored entry can't be read", async () => {
    const actionId = await recordAction(test.ledger, lease, "denied");
    await store.transaction(async (tx) => {
      await store.sql("set local session_replication_role = replica", [], tx);
      await store.sql("alter table ledger_entries drop constraint ledger_entries_leaf_hash", [], tx);
      await store.sql("update ledger_entries set body = body || ' '::bytea where action_id = $1", [actionId], tx);
    });

    const error = await showAction(store, actionId).catch((thrown: unknown) => thrown);

    expect(isCountersignError(error, "LEDGER_UNAVAILABLE") && error.remedy).toContain("audit verify");
  });
});

describe("proofs from the store", () => {
  it("lead from each entry to the head with one query", async () => {
    for (let done = 0; done < 3; done += 1) await recordAction(test.ledger, lease);
    const { size, rootHash } = await test.ledger.head();
    const rows = await store.sql<{ index: number; body: Buffer }>(
      "select index, body from ledger_entries order by index",
    );
    const index = rows.length - 4;

    const proof = await inclusionProof(index, size, proofReader(store));

    const leaf = { index, hash: leafHash(rows[index]?.body ?? Buffer.alloc(0)) };
    expect(size).toBe(rows.length);
    expect(verifyInclusion(leaf, { size, rootHash: Buffer.from(rootHash, "base64") }, proof)).toBe(true);
  });
});

/** An action that was decided and started, and whose outcome is for the test to say. */
async function startedAction() {
  const actionId = newTestActionId();
  const decisionId = newTestDecisionId();
  const { runId } = lease;
  const evidence = { effect: "allow", policyIds: [] };
  await test.ledger.append(lease, {
    entries: [
      aMove(runId, actionId, "proposed"),
      anEntry(runId, { type: "decision", actionId, decisionId, evidence }),
      aMove(runId, actionId, "authorized", { decisionId }),
      aMove(runId, actionId, "intent_recorded"),
      aMove(runId, actionId, "started", { try: 1 }),
    ],
    sealed: [],
  });
  return actionId;
}
