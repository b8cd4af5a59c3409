import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openKeys, verifyStored } from "../../src/ledger/index.ts";
import { type FailingLog, logFaults, makeLogFail } from "../support/failing-log.ts";
import { type GithubPlace, openGithubPlace, type RunningService } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import type { TestStore } from "../support/test-store.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const [, diskFull] = logFaults;
const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };
const always = 1_000_000;

let place: GithubPlace;
let service: RunningService;
let store: TestStore;
let log: FailingLog;
let closeModel: () => Promise<void>;
/** What happens before the model answers, by the number of its answer. */
let beforeAnswer: (number: number, said: string) => Promise<void> = () => Promise.resolve();

beforeAll(async () => {
  const note = call("create_file", { path: "note.txt", content: "hello\n" });
  const model = await startPlannedModel([note, note, finish], (number, said) => beforeAnswer(number, said));
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  service = await place.serve({ policiesFolder: place.policiesFor(1) });
  store = place.countersign.store as TestStore;
  log = await makeLogFail(store);
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

type Shown = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };
async function show(path: "/healthz" | "/readyz"): Promise<Shown> {
  const response = await fetch(new URL(path, service.webhookUrl ?? ""));
  return { status: response.status, body: (await response.json()) as Shown["body"] };
}
/** The shipped set, with `failure_policy` as `shutdown`. */
function endingPolicies(): string {
  const folder = place.policiesFor(2);
  const file = join(folder, "operator.json");
  const operator = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...operator, failure_policy: "shutdown" }));
  return folder;
}
const comesToShow = (expected: object): Promise<void> =>
  vi.waitFor(async () => expect(await show("/readyz")).toMatchObject(expected), { timeout: 60_000, interval: 100 });

async function ask(name: string): Promise<string> {
  await place.addRepository(
    name,
    await writeTinyRepository(join(place.countersign.folder, `files-${name}`), unverified),
  );
  const repository = `acme/${name}`;
  const number = await place.github.openIssue(repository, { title: "A note", body: "Write a note", by: "alice" });
  await place.github.label({ repository, number }, "countersign", "alice");
  return repository;
}
const runOf = async (repository: string) =>
  (await store.sql<Record<string, unknown>>("select * from runs where repository_name = $1", [repository]))[0];
const outcomesOf = (repository: string, tool: string) =>
  store.sql<{ state: string; cause: string | null }>(
    `select a.state, convert_from(e.body, 'UTF8')::json -> 'evidence' ->> 'cause' as cause
      from actions a join runs r using (run_id) join ledger_entries e on e.index = a.last_index
      where r.repository_name = $1 and a.tool = $2 order by a.first_index`,
    [repository, tool],
  );

describe("a log that fails for one action of the model (AUD-53)", () => {
  it("has the model told, and the run goes on once it is back", async () => {
    const told: string[] = [];
    beforeAnswer = async (number, said) => {
      told.push(said);
      // Answer and proposal are recorded; the intent is not.
      if (number === 0) await log.failIntent(diskFull, "create_file");
    };
    const ended = service.ended(1);
    const repository = await ask("one-action");
    await ended;
    beforeAnswer = () => Promise.resolve();

    expect(told[1]).toContain("could not be recorded, so it was not executed");
    expect(await outcomesOf(repository, "create_file")).toMatchObject([
      { state: "cancelled", cause: "log_failed_before" },
      { state: "succeeded" },
    ]);
    expect(await runOf(repository)).toMatchObject({ status: "completed", conclusion: "neutral", attempt: 0 });
    expect(await place.github.read.pulls(repository)).toHaveLength(1);
  });
});

describe("a log that fails for longer, in the middle of a run", () => {
  let repository: string;
  const during: { writes: number; health: Shown | null; ready: Shown | null } = {
    writes: -1,
    health: null,
    ready: null,
  };

  beforeAll(async () => {
    const out = Promise.withResolvers<void>();
    beforeAnswer = async (number) => {
      if (number !== 1) return;
      await log.fail(diskFull, 1, always);
      out.resolve();
    };
    const ended = service.ended(2);
    repository = await ask("for-longer");
    await out.promise;
    beforeAnswer = () => Promise.resolve();
    await comesToShow({ status: 503 });
    const before = place.github.requests.length;
    await service.heard(() => service.events.some(({ kind, ...event }) => kind === "notice" && "text" in event));
    during.health = await show("/healthz");
    during.ready = await show("/readyz");
    during.writes = place.github.requests.slice(before).filter(({ method }) => method !== "GET").length;
    await log.mend();
    await comesToShow({ status: 200 });
    await ended;
  });

  it("shows on /healthz, and on /readyz as 503 with its reason (AUD-59, AUD-60)", () => {
    const ledger = { state: "unavailable", code: "LEDGER_UNAVAILABLE", since: expect.any(String) };
    expect(during.ready).toMatchObject({ status: 503, body: { ok: false, reason: "ledger_unavailable", ledger } });
    expect(during.health).toMatchObject({ status: 200, body: { ok: true, ready: false, ledger } });
  });

  it("lets nothing be written to GitHub meanwhile", () => expect(during.writes).toBe(0));

  it("lets the run rest and be gone on with afterwards, without an attempt and with one pull request", async () => {
    const rested = await store.sql(
      `select index from ledger_entries e join runs r on r.run_id = e.run_id where r.repository_name = $1
        and convert_from(e.body, 'UTF8')::json -> 'evidence' ->> 'cause' = 'log_failed' and e.type = 'run'`,
      [repository],
    );
    expect(rested).toHaveLength(1);
    expect(await runOf(repository)).toMatchObject({ status: "completed", conclusion: "neutral", attempt: 0 });
    expect(await place.github.read.pulls(repository)).toHaveLength(1);
    expect(place.github.read.comments({ repository, number: 1 })).toHaveLength(1);
  });

  it("is told in the status comment once it is over", () => {
    const [comment] = place.github.read.comments({ repository, number: 1 });
    expect(comment?.["body"]).toContain("the log could not be written");
  });

  it("shows what there is to know once it is over", async () => {
    expect(await show("/readyz")).toMatchObject({
      status: 200,
      body: {
        ok: true,
        ledger: { state: "ok", size: expect.any(Number) },
        spool: { outcomes: 0, torn: 0 },
        paused: false,
        outboxAgeSeconds: expect.any(Number),
        openUnknowns: 0,
      },
    });
  });
});

describe("a worker whose disk is nearly full (AUD-58), and whose operator wants an outage to end it (AUD-52)", () => {
  let full: RunningService;
  beforeAll(async () => {
    await service[Symbol.asyncDispose]();
    full = await place.serve({ leastFreeBytes: Number.MAX_SAFE_INTEGER, policiesFolder: endingPolicies() });
  });

  /** What the run's only comment says. */
  async function toldIn(repository: string): Promise<unknown> {
    const comments = () => place.github.read.comments({ repository, number: 1 });
    await vi.waitFor(() => expect(comments()).toHaveLength(1), { timeout: 60_000, interval: 100 });
    return comments()[0]?.["body"];
  }

  it("takes no run, and says so", async () => {
    const repository = await ask("no-room");

    expect(await toldIn(repository)).toContain("the disk of its worker is nearly full");
    expect(await runOf(repository)).toMatchObject({ status: "queued", attempt: 0 });
  });

  it("takes no new work once an action could not be recorded, and ends as nothing is at work", async () => {
    await log.failIntent(diskFull, "create_comment");
    await ask("no-record");

    expect(await full.givenUp).toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    await log.mend();
    expect(await toldIn(await ask("too-late"))).toContain("its worker ends, and takes no more");
    await full[Symbol.asyncDispose]();
  });

  it("has left the starts and stops of the service on record (AUD-11)", async () => {
    const kinds = await store.sql(
      `select convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' as kind from ledger_entries
        where convert_from(body, 'UTF8')::json -> 'evidence' ->> 'kind' like 'service_%' order by index`,
    );
    const [started, stopped] = ["service_started", "service_stopped"].map((kind) => ({ kind }));
    expect(kinds).toEqual([started, stopped, started, stopped]);
  });
});

it("leaves a ledger that verifies", async () => {
  const keys = await openKeys({ randomBytes: () => new Uint8Array() }, join(place.countersign.home, "keys"));
  expect(await verifyStored({ store, keys })).toMatchObject({ findings: [] });
});
