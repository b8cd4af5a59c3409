import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newRunId, type RunId } from "../../src/domain/index.ts";
import { readRunEntries, verifyStored } from "../../src/ledger/index.ts";
import { pause, requestStop, resume } from "../../src/run/index.ts";
import { readHalt, readKillSwitch } from "../../src/store/index.ts";
import { commandLine } from "../support/cli.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import { intakeDeps, labelled, startIntake, type TestIntake } from "../support/webhooks.ts";

let store: TestStore;
let held: TestLedger;
let intake: TestIntake;
const deps = () => ({ store, ledger: held.ledger, clock: () => held.now.ms, randomBytes });

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
afterEach(async () => {
  await resume(deps());
  await store.db
    .updateTable("runs")
    .set({ status: "completed", conclusion: "neutral", completed_at: new Date(held.now.ms).toISOString() })
    .execute();
});

async function aRun(status: "queued" | "in_progress"): Promise<RunId> {
  const payload = labelled();
  await intake.send("issues", payload);
  const { run_id: runId } = await rowWhere("repository_id", String(payload.repository.id));
  await store.db.updateTable("runs").set({ status }).where("run_id", "=", runId).execute();
  return runId;
}
const rowWhere = (column: "repository_id" | "run_id", value: string) =>
  store.db
    .selectFrom("runs")
    .selectAll()
    .where(column, "=", value as RunId)
    .executeTakeFirstOrThrow();
const serviceEntries = () =>
  store.sql<{ kind: string }>(
    `select convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' as kind from ledger_entries
      where convert_from(body, 'UTF8')::json ->> 'type' = 'service'
        and convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' in ('paused', 'resumed') order by index`,
  );

describe("the kill switch (SEC-5)", () => {
  it("asks the runs under way to stop, on record, and lets queued ones wait", async () => {
    const live = await aRun("in_progress");
    const queued = await aRun("queued");

    const paused = await pause(deps());

    expect(paused).toMatchObject({ isNew: true, stopped: [live] });
    expect(await readKillSwitch(store.db)).toEqual({ isPaused: true, since: paused.since });
    expect(await rowWhere("run_id", live)).toMatchObject({ stop_cause: "paused", stop_requested_by_login: null });
    expect((await readRunEntries(store, live)).at(-1)?.evidence).toMatchObject({
      kind: "stop_requested",
      cause: "paused",
    });
    expect(await rowWhere("run_id", queued)).toMatchObject({ stop_requested_at: null, status: "queued" });
  });

  it("is on record each time that it is turned, and no more often", async () => {
    const before = (await serviceEntries()).length;

    const [first, second] = [await pause(deps()), await pause(deps())];
    const [third, fourth] = [await resume(deps()), await resume(deps())];

    expect([first, second, third, fourth].map(({ isNew }) => isNew)).toEqual([true, false, true, false]);
    expect((await serviceEntries()).slice(before)).toEqual([{ kind: "paused" }, { kind: "resumed" }]);
  });

  it("is written anew by `resume` where its row is gone", async () => {
    await store.db.deleteFrom("service_state").execute();
    await expect(readKillSwitch(store.db)).rejects.toMatchObject({ code: "KILL_SWITCH_UNREADABLE" });
    await expect(readHalt(store.db, newRunId({ clock: Date.now, randomBytes }))).rejects.toMatchObject({
      code: "KILL_SWITCH_UNREADABLE",
    });

    await resume(deps());

    expect(await readKillSwitch(store.db)).toMatchObject({ isPaused: false });
  });

  it("can't be read where the database fails, which is no word for going on", async () => {
    const closed = await openTestStore({ database: store.database });
    await closed[Symbol.asyncDispose]();

    await expect(readKillSwitch(closed.db)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
  });

  it("lets nothing be started by a delivery whose row can't be read: 500, and nothing is kept", async () => {
    await store.db.deleteFrom("service_state").execute();
    const payload = labelled();

    const sent = await intake.send("issues", payload);

    expect(sent).toEqual({ status: 500, body: { error: "KILL_SWITCH_UNREADABLE" } });
    expect(
      await store.db.selectFrom("runs").where("repository_id", "=", String(payload.repository.id)).execute(),
    ).toEqual([]);
  });
});

describe("one run is asked to stop by the operator", () => {
  it("once, with its own entry and a job that ends it where nobody works on it", async () => {
    const runId = await aRun("queued");

    const asked = [
      await requestStop(deps(), runId, "cancel_command"),
      await requestStop(deps(), runId, "cancel_command"),
    ];

    expect(asked).toEqual([true, false]);
    expect(await rowWhere("run_id", runId)).toMatchObject({ stop_cause: "cancel_command" });
    const entries = await readRunEntries(store, runId);
    expect(entries.filter(({ evidence }) => evidence["kind"] === "stop_requested")).toHaveLength(1);
    expect(
      await store.sql("select 1 from pgboss.job where data->>'runId' = $1 and priority = 1", [runId]),
    ).toHaveLength(1);
  });

  it("and is told where there is none", async () => {
    const runId = newRunId({ clock: Date.now, randomBytes });

    await expect(requestStop(deps(), runId, "cancel_command")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("on the command line", () => {
  const openRecords = async () => ({
    store,
    ledger: held.ledger,
    keys: held.keys,
    [Symbol.asyncDispose]: async () => undefined,
  });
  const given = () => ({ openRecords, clock: () => held.now.ms });

  it("`pause` names the runs that it cancels, `resume` ends it", async () => {
    const runId = await aRun("in_progress");

    const paused = await commandLine(["pause"], given());
    const again = await commandLine(["pause", "--json"], given());
    const resumed = await commandLine(["resume"], given());

    expect(paused).toMatchObject({ exitCode: 0, err: "" });
    expect(paused.out).toBe(
      `paused: no run and no action starts\nrun ${runId} is being cancelled\n\`countersign resume\` ends it\n`,
    );
    expect(JSON.parse(again.out)).toEqual({ paused: true, since: expect.any(String), stopped: [] });
    expect(resumed).toEqual({ exitCode: 0, out: "resumed: runs start again\n", err: "" });
  });

  it("`runs cancel` asks one run to stop", async () => {
    const runId = await aRun("in_progress");

    const { exitCode, out } = await commandLine(["runs", "cancel", runId], given());

    expect({ exitCode, out }).toEqual({
      exitCode: 0,
      out: `run ${runId} is being cancelled: \`countersign runs show ${runId}\`\n`,
    });
    expect(await rowWhere("run_id", runId)).toMatchObject({ stop_cause: "cancel_command" });
  });
});

it("the ledger of all this verifies", async () => {
  expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
});
