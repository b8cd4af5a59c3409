import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newRunId, type RunId } from "../../src/domain/index.ts";
import { holdLease, leaseEnd, takeOver } from "../../src/run/lease.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
let now = Date.UTC(2026, 0, 1);
const clock = (): number => now;

beforeAll(async () => {
  store = await openTestStore();
});

afterAll(() => store[Symbol.asyncDispose]());

async function aRun(): Promise<RunId> {
  const runId = newRunId({ clock, randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)) });
  const insert = `insert into runs (run_id, trace_id, repository_id, repository_name, requester_id, requester_login,
    requester_permission, base_sha, status, fencing_token, lease_owner, lease_expires_at, started_at, limits)
    values ($1, $2, 'local:0', 'x', 'local:0', 'x', 'admin', '', 'in_progress', 1, 'first', $3, $3, '{}')`;
  await store.sql(insert, [runId, runId.replaceAll("-", ""), new Date(now).toISOString()]);
  return runId;
}

const rowOf = async (runId: RunId) =>
  (await store.sql<Record<string, unknown>>("select * from runs where run_id = $1", [runId]))[0];

describe("a lease that is held", () => {
  it("is renewed from the clock while it is ours", async () => {
    const runId = await aRun();
    now += 5_000;

    await using held = holdLease({ store, clock }, { runId, fencingToken: 1 }, { leaseMs: 60_000, renewEveryMs: 5 });

    await vi.waitFor(async () => expect(await rowOf(runId)).toMatchObject({ lease_expires_at: leaseEnd(now) }));
    expect(held.lost.aborted).toBe(false);
  });

  it("is told to be lost once another worker has taken the run", async () => {
    const runId = await aRun();
    await using held = holdLease({ store, clock }, { runId, fencingToken: 1 }, { leaseMs: 60_000, renewEveryMs: 5 });

    const taken = await takeOver({ store, clock }, { runId, fencingToken: 1, owner: "second" });

    expect(taken).toEqual({ runId, fencingToken: 2 });
    await vi.waitFor(() => expect(held.lost.reason).toMatchObject({ code: "LEDGER_CONFLICT" }));
  });

  it("is renewed no more after its end", async () => {
    const runId = await aRun();
    const held = holdLease({ store, clock }, { runId, fencingToken: 1 }, { leaseMs: 60_000, renewEveryMs: 5 });
    await held[Symbol.asyncDispose]();
    const before = await rowOf(runId);
    now += 60_000;

    await using other = holdLease(
      { store, clock },
      { runId: await aRun(), fencingToken: 1 },
      { leaseMs: 60_000, renewEveryMs: 5 },
    );
    await vi.waitFor(() => expect(other.lost.aborted).toBe(false));

    expect(await rowOf(runId)).toEqual(before);
  });
});

describe("a takeover", () => {
  it("counts as an attempt and belongs to one taker alone", async () => {
    const runId = await aRun();
    const taker = (owner: string) => takeOver({ store, clock }, { runId, fencingToken: 1, owner });

    const taken = await Promise.all([taker("a"), taker("b"), taker("c")]);

    expect(taken.filter((lease) => lease !== null)).toEqual([{ runId, fencingToken: 2 }]);
    expect(await rowOf(runId)).toMatchObject({ attempt: 1, fencing_token: 2, lease_expires_at: leaseEnd(now) });
  });

  it("takes no run that has ended", async () => {
    const runId = await aRun();
    await store.sql("update runs set status = 'completed', conclusion = 'success' where run_id = $1", [runId]);

    expect(await takeOver({ store, clock }, { runId, fencingToken: 1, owner: "late" })).toBeNull();
  });
});
