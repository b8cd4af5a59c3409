import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openKeys, verifyStored } from "../../src/ledger/index.ts";
import {
  type ApartService,
  type GithubPlace,
  openGithubPlace,
  type RunningService,
} from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** It ends by being killed alone: no test waits so long. */
const longCommand = call("run_command", { command: "sleep 500", timeout_s: 600 });
const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };

let place: GithubPlace;
let intake: RunningService;
let worker: ApartService;
let closeModel: () => Promise<void>;

beforeAll(async () => {
  const note = call("create_file", { path: "note.txt", content: "hello\n" });
  const model = await startPlannedModel([note, longCommand, finish]);
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const policiesFolder = place.policiesFor(1);
  // What takes the events is another process than the one that works: only the database is between them.
  intake = await place.serve({ role: "web", policiesFolder });
  worker = await place.serveApart({ role: "worker", policiesFolder });
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

type Row = { run_id: string; status: string; conclusion: string | null; stop_cause: string | null };
const rowOf = async (repositoryId: number): Promise<Row | undefined> =>
  (await place.countersign.store?.sql<Row>("select * from runs where repository_id = $1", [String(repositoryId)]))?.[0];

type Target = { readonly repository: string; readonly number: number; readonly id: number };

/** A run whose model has written a file and now waits for a command. */
async function atWork(name: string): Promise<Target> {
  const target = await ask(name);
  const started = `select 1 from actions a join runs r using (run_id)
    where r.repository_id = $1 and a.tool = 'run_command' and a.state = 'started'`;
  const isAtWork = async (): Promise<void> => {
    const row = await rowOf(target.id);
    if (row?.status === "completed") throw new Error(`it ended before: ${commentsOn(target).join("\n")}`);
    expect(await place.countersign.store?.sql(started, [String(target.id)])).toHaveLength(1);
  };
  await vi.waitFor(isAtWork, { timeout: 120_000, interval: 100 });
  return target;
}

async function ask(name: string): Promise<Target> {
  const folder = await writeTinyRepository(join(place.countersign.folder, `files-${name}`), unverified);
  const id = await place.addRepository(name, folder);
  const repository = `acme/${name}`;
  const number = await place.github.openIssue(repository, { title: "A note", body: "Write a note", by: "alice" });
  await place.github.label({ repository, number }, "countersign", "alice");
  return { repository, number, id };
}

const comesTo = (id: number, expected: Partial<Row>): Promise<void> =>
  vi.waitFor(async () => expect(await rowOf(id)).toMatchObject(expected), { timeout: 120_000, interval: 100 });

const commentsOn = (target: Target): readonly string[] =>
  place.github.read.comments(target).map(({ body }) => String(body));

/** What the run did after it was told to stop, by the ledger: tools of actions that were started. */
async function startedAfter(runId: string, kind: string): Promise<readonly string[]> {
  const rows = await place.countersign.store?.sql<{ tool: string }>(
    `with told as (
       select min(index) as index from ledger_entries
        where convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' = $2 and (run_id = $1 or run_id is null)
          and index > (select min(index) from ledger_entries where run_id = $1)
     )
     select a.tool from ledger_entries e join told on e.index > told.index join actions a using (action_id)
      where e.run_id = $1 and convert_from(e.body, 'UTF8')::json ->> 'state' = 'started' order by e.index`,
    [runId, kind],
  );
  return (rows ?? []).map(({ tool }) => tool);
}

/** Which events do so, and of whom, is for test/intake/stop.test.ts: between them and the worker stands one row. */
describe("an event that ends a run reaches the process that works on it (AT-11, GH-50)", () => {
  it.each<[string, (target: Target) => unknown]>([
    ["label_removed", (target) => place.github.unlabel(target, "countersign", "alice")],
    ["item_closed", (target) => place.github.close(target, "alice")],
    ["repository_deleted", ({ repository }) => place.github.deleteRepository(repository)],
  ])("`%s` kills its command, starts nothing more, publishes nothing and keeps the work", async (cause, act) => {
    const target = await atWork(`for-${cause.replace("_", "-")}`);

    await act(target);
    await comesTo(target.id, { status: "completed", conclusion: "cancelled", stop_cause: cause });

    const { run_id: runId } = (await rowOf(target.id)) ?? { run_id: "" };
    const told = (await startedAfter(runId, "stop_requested")).filter((tool) => !tellingTools.includes(tool));
    expect(told).toEqual([]);
    const patch = await place.countersign.inProcess(["runs", "patch", runId]);
    expect(patch.stdout).toContain("+hello");
    const shown = await place.countersign.inProcess(["runs", "show", runId]);
    expect(shown.stdout).toMatch(/conclusion {2}cancelled: cancelled by \S+ through the /);
    expect(writesOf(target)).toEqual([]);
  });

  it("a lock is no such event (GH-26): the run goes on", async () => {
    const target = await atWork("locked");

    await place.github.lock(target, "alice");
    await place.github.settled();

    expect(await rowOf(target.id)).toMatchObject({ status: "in_progress", stop_cause: null });
    await place.github.close(target, "alice");
    await comesTo(target.id, { status: "completed" });
  });
});

const tellingTools = ["create_comment", "update_comment", "add_reaction"];

/** What was asked of GitHub for a repository that would stand in its git or as a pull request. */
const writesOf = ({ repository, id }: Target): readonly string[] =>
  place.github.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path}`)
    .filter((line) => new RegExp(`/(${repository}|repositories/${id})/(git/|pulls)`).test(line));

describe("the operator's kill switch (SEC-5)", () => {
  it("cancels the run under way, lets the others wait, refuses new ones, and all go on after `resume`", async () => {
    const live = await atWork("under-way");
    const waiting = await ask("waiting");
    await comesTo(waiting.id, { status: "queued" });

    const paused = await place.countersign.command(["pause"]);
    await comesTo(live.id, { status: "completed", conclusion: "cancelled", stop_cause: "paused" });

    expect(paused).toMatchObject({ exitCode: 0, stderr: "" });
    const { run_id: runId } = (await rowOf(live.id)) ?? { run_id: "" };
    expect(paused.stdout).toContain(`run ${runId} is being cancelled`);
    const started = await startedAfter(runId, "paused");
    expect(started.filter((tool) => !tellingTools.includes(tool))).toEqual([]);
    expect(commentsOn(live)[0]).toContain("cancelled by the operator through `countersign pause`");
    expect(await readiness()).toMatchObject({ ok: true, paused: true });
    expect(await refusedWhilePaused()).toContain("Countersign is paused by its operator");
    expect(await startedLocally()).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("[PAUSED]") });
    expect(await rowOf(waiting.id)).toMatchObject({ status: "queued", conclusion: null });

    const resumed = await place.countersign.command(["resume"]);
    await comesTo(waiting.id, { status: "in_progress" });

    expect(resumed.stdout).toBe("resumed: runs start again\n");
    expect(await readiness()).toMatchObject({ ok: true, paused: false });
    const { run_id: other } = (await rowOf(waiting.id)) ?? { run_id: "" };
    const cancelled = await place.countersign.inProcess(["runs", "cancel", other]);
    await comesTo(waiting.id, { status: "completed", conclusion: "cancelled", stop_cause: "cancel_command" });
    expect(cancelled.exitCode).toBe(0);
  });

  it("takes up nothing where its row can't be read, and goes on once it can", async () => {
    await place.countersign.store?.sql("delete from service_state");

    expect(await readiness()).toMatchObject({ ok: false });

    expect((await place.countersign.command(["resume"])).exitCode).toBe(0);
    expect(await readiness()).toMatchObject({ ok: true, paused: false });
  });
});

async function readiness(): Promise<unknown> {
  return (await fetch(`http://127.0.0.1:${intake.port}/readyz`)).json();
}

/** The answer to a label that was put on while all is paused. */
async function refusedWhilePaused(): Promise<string> {
  const target = await ask("refused");
  await vi.waitFor(() => expect(commentsOn(target)).toHaveLength(1), { timeout: 60_000, interval: 100 });
  expect(await rowOf(target.id)).toBeUndefined();
  return commentsOn(target)[0] ?? "";
}

async function startedLocally() {
  const repository = await writeTinyRepository(join(place.countersign.folder, "local"), unverified);
  const { baseUrl, model } = place.model;
  const issue = join(repository, "value.txt");
  return place.countersign.command(["run", "--repo", repository, "--issue", issue], {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_MODEL: model,
    OPENAI_API_KEY: "none",
  });
}

it("leaves a ledger that verifies, and no trouble at intake", async () => {
  const { store, home } = place.countersign;
  if (store === null) throw new Error("no database");
  const keys = await openKeys(
    { randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)) },
    join(home, "keys"),
  );

  expect(await verifyStored({ store, keys })).toMatchObject({ findings: [] });
  expect(intake.troubles).toEqual([]);
  expect(worker.lines.filter((line) => line.startsWith("trouble"))).toEqual([]);
});
