import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError, type RunId } from "../../../src/domain/index.ts";
import { createCatalogue } from "../../../src/gateway/index.ts";
import { readRunEntries, verifyStored } from "../../../src/ledger/index.ts";
import type { GithubJob } from "../../../src/run/on-github/github-job.ts";
import type { GithubRunDeps } from "../../../src/run/on-github/github-run-deps.ts";
import type { HandOverCause } from "../../../src/run/on-github/hand-over.ts";
import { restUntilLogged } from "../../../src/run/on-github/rest-until-logged.ts";
import { takeRun } from "../../../src/run/on-github/take-run.ts";
import { workOnRun } from "../../../src/run/on-github/work-on-run.ts";
import { recordHandOver } from "../../../src/run/run-record.ts";
import { openTestLedger, recordAction, type TestLedger } from "../../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../../support/test-store.ts";
import { intakeDeps, labelled, startIntake, type TestIntake } from "../../support/webhooks.ts";

let store: TestStore;
let held: TestLedger;
let intake: TestIntake;
beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  intake = await startIntake(intakeDeps(store, held));
});
afterAll(async () => {
  await intake[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const depsOf = (changes: object = {}): GithubRunDeps =>
  ({
    ...intakeDeps(store, held),
    catalogue: createCatalogue(),
    readSpools: () => Promise.resolve({ records: [], files: [], torn: [] }),
    onEvent: () => undefined,
    times: { leaseMs: 60_000, renewEveryMs: 60_000, stopPollMs: 60_000 },
    ...changes,
  }) as unknown as GithubRunDeps;

async function aQueuedRun(): Promise<RunId> {
  const payload = labelled();
  await intake.send("issues", payload);
  const row = await store.db
    .selectFrom("runs")
    .select("run_id")
    .where("repository_id", "=", String(payload.repository.id))
    .executeTakeFirstOrThrow();
  return row.run_id;
}

/** Whether the run is given up, each time that it is taken and given back for this cause. */
async function takenAndGivenBack(runId: RunId, cause: HandOverCause, times: number): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (let time = 0; time < times; time += 1) {
    const taking = await takeRun(depsOf(), runId);
    if (taking.kind !== "taken") throw new Error(`it was not taken: ${taking.kind}`);
    found.push(taking.givenUp);
    const run = { runId, traceId: taking.row.trace_id, attempt: taking.row.attempt };
    await recordHandOver(depsOf(), { run, lease: taking.lease, cause }, () => Promise.resolve());
  }
  return found;
}

describe("a run whose log fails again and again (AUD-59)", () => {
  it("begins anew five times, and is then given up: what the model costs has an end", async () => {
    const found = await takenAndGivenBack(await aQueuedRun(), "log_failed", 7);

    expect(found).toEqual([...Array.from({ length: 6 }, () => null), "log_failed"]);
  });

  it("is told apart from one that was handed over when the service ended (GH-35)", async () => {
    expect(await takenAndGivenBack(await aQueuedRun(), "shutdown", 8)).not.toContain("log_failed");
  });
});

it("a run that rests tries again until the log takes the entry that gives it back (AUD-59)", async () => {
  const runId = await aQueuedRun();
  const taking = await takeRun(depsOf(), runId);
  if (taking.kind !== "taken") throw new Error("it was not taken");
  const out = new CountersignError("LEDGER_UNAVAILABLE", "the log is out");
  let tries = 0;
  const ledger: TestLedger["ledger"] = {
    ...held.ledger,
    append: (...parts) => {
      tries += 1;
      return tries === 1 ? Promise.reject(out) : held.ledger.append(...parts);
    },
  };
  const job = { row: taking.row, lease: taking.lease } as unknown as GithubJob;

  await restUntilLogged(depsOf({ ledger }), job, out, new AbortController().signal);

  expect(tries).toBe(2);
  expect(await takeRun(depsOf(), runId)).toMatchObject({ kind: "taken", row: { attempt: 0 }, givenUp: null });
});

describe("a run whose worker was lost (AUD-6)", () => {
  it("has what was cut off brought to rest, as a crash, before its new worker does anything", async () => {
    const runId = await aQueuedRun();
    const taking = await takeRun(depsOf(), runId);
    if (taking.kind !== "taken") throw new Error("it was not taken");
    const { ledger } = held;
    let count = 0;
    const cutOff: typeof ledger.append = (...parts) => {
      count += 1;
      return count > 2 ? Promise.reject(new Error("the worker is gone")) : ledger.append(...parts);
    };
    await expect(recordAction({ ...ledger, append: cutOff }, taking.lease)).rejects.toThrow("the worker is gone");
    const over = new Date(held.now.ms).toISOString();
    await store.db.updateTable("runs").set({ lease_expires_at: over }).where("run_id", "=", runId).execute();

    const end = new AbortController();
    const enough = new CountersignError("LEDGER_UNAVAILABLE", "the first that the worker wants of the world");
    const github = { host: "github.com", writer: () => ({}), reader: () => ({}) };
    const deps = Object.defineProperty(depsOf({ github, onEvent: () => end.abort() }), "publicUrl", {
      get: () => {
        throw enough;
      },
    });
    await expect(workOnRun(deps, runId, end.signal)).rejects.toBe(enough);

    const entries = await readRunEntries(store, runId);
    const moves = entries.filter(({ type }) => type === "action").slice(-3);
    expect(moves.map(({ state, evidence }) => [state, evidence["cause"] ?? null])).toEqual([
      ["unknown", "crash"],
      ["reconciling", null],
      ["reconciled_not_applied", null],
    ]);
    expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
  });
});
