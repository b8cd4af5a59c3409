import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunId } from "../../src/domain/index.ts";
import { readRunEntries, readRunTexts, verifyStored } from "../../src/ledger/index.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import {
  commented,
  intakeDeps,
  labelled,
  operatorWith,
  ownApp,
  startIntake,
  type TestIntake,
  writer,
} from "../support/webhooks.ts";

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

const stranger = { id: 808, login: "mallory", type: "User" };
const laterAt = "2026-01-01T00:10:00Z";

async function liveRun(changes: { repository?: object; installation?: object; issue?: object } = {}) {
  const payload = { ...labelled(changes), ...(changes.installation ? { installation: changes.installation } : {}) };
  expect(await intake.send("issues", payload)).toMatchObject({ body: { result: "started" } });
  return payload;
}
const runOf = (repositoryId: number) =>
  store.db.selectFrom("runs").selectAll().where("repository_id", "=", String(repositoryId)).executeTakeFirstOrThrow();
const finish = (repositoryId: number) =>
  store.db
    .updateTable("runs")
    .set({ status: "completed", conclusion: "neutral", completed_at: new Date(held.now.ms).toISOString() })
    .where("repository_id", "=", String(repositoryId))
    .execute();

type Live = Awaited<ReturnType<typeof liveRun>>;
const unlabelled = (run: Live, changes: object = {}) => ({
  action: "unlabeled",
  label: { name: "countersign" },
  issue: { ...run.issue, updated_at: laterAt },
  repository: run.repository,
  sender: stranger,
  ...changes,
});

describe("a live run is asked to stop (AT-11, GH-13, GH-50)", () => {
  it.each([
    ["issues", "label_removed", (run: Live) => unlabelled(run)],
    ["issues", "item_closed", (run: Live) => ({ ...unlabelled(run), action: "closed" })],
    ["issues", "item_transferred", (run: Live) => ({ ...unlabelled(run), action: "transferred" })],
    ["issues", "item_deleted", (run: Live) => ({ ...unlabelled(run), action: "deleted" })],
    [
      "pull_request",
      "item_closed",
      (run: Live) => ({
        action: "closed",
        pull_request: { number: run.issue.number, updated_at: laterAt },
        repository: run.repository,
        sender: stranger,
      }),
    ],
    [
      "installation_repositories",
      "repository_removed",
      (run: Live) => ({
        action: "removed",
        installation: run.installation,
        repositories_removed: [{ id: 1 }, { id: run.repository.id }],
        sender: stranger,
      }),
    ],
    [
      "repository",
      "repository_archived",
      (run: Live) => ({ action: "archived", repository: run.repository, sender: stranger }),
    ],
    [
      "repository",
      "repository_deleted",
      (run: Live) => ({ action: "deleted", repository: run.repository, sender: stranger }),
    ],
    [
      "repository",
      "repository_transferred",
      (run: Live) => ({ action: "transferred", repository: run.repository, sender: stranger }),
    ],
  ] as const)("by `%s` with the cause `%s`, whoever did it", async (event, cause, payloadOf) => {
    const live = await liveRun();

    const { status, body } = await intake.send(event, payloadOf(live));

    expect({ status, body }).toEqual({ status: 202, body: { result: "stopped", code: "done" } });
    const run = await runOf(live.repository.id);
    expect(run).toMatchObject({
      status: "queued",
      stop_cause: cause,
      stop_requested_by_id: "808",
      stop_requested_by_login: "mallory",
      stop_requested_at: expect.any(String),
    });
    const entries = await readRunEntries(store, run.run_id);
    expect(entries.at(-1)).toMatchObject({ type: "run", evidence: { kind: "stop_requested", cause } });
    const [text] = await readRunTexts({ store, keys: held.keys }, run.run_id, "stop_requester");
    expect(JSON.parse(Buffer.from(text?.bytes ?? []).toString())).toMatchObject({ id: "808", login: "mallory" });
  });

  it.each(["deleted", "suspend"])("with all others of an installation by `installation.%s`", async (action) => {
    const installation = { id: action === "deleted" ? 61 : 62 };
    const one = await liveRun({ installation });
    const other = await liveRun({ installation });
    const elsewhere = await liveRun();

    await intake.send("installation", { action, installation, sender: stranger });

    for (const { repository } of [one, other]) {
      const run = await runOf(repository.id);
      expect(run.stop_cause).toMatch(/^installation_/);
      expect((await readRunEntries(store, run.run_id)).at(-1)?.evidence).toMatchObject({ kind: "stop_requested" });
    }
    expect((await runOf(elsewhere.repository.id)).stop_cause).toBeNull();
  });

  it("by a removal that names more repositories than a statement takes", async () => {
    const live = await liveRun();
    const others = Array.from({ length: 70_000 }, (_none, at) => ({ id: 5_000_000 + at }));
    const deps = { ...intakeDeps(store, held), operator: operatorWith({ webhook: { body_bytes: 5_000_000 } }) };
    await using wide = await startIntake(deps);

    const removed = { action: "removed", installation: { id: 31 }, repositories_removed: [...others, live.repository] };
    const sent = await wide.send("installation_repositories", { ...removed, sender: stranger });

    expect(sent.body).toEqual({ result: "stopped", code: "done" });
    expect((await runOf(live.repository.id)).stop_cause).toBe("repository_removed");
  });

  it("by the command of a writer", async () => {
    const live = await liveRun();

    const sent = await intake.send("issue_comment", commented("/countersign stop", live));

    expect(sent.body).toEqual({ result: "stopped", code: "done" });
    expect(await runOf(live.repository.id)).toMatchObject({
      stop_cause: "command",
      stop_requested_by_id: String(writer.id),
    });
  });

  it("once: a second stop changes nothing and says so", async () => {
    const live = await liveRun();
    await intake.send("issues", unlabelled(live));

    const closed = await intake.send("issues", { ...unlabelled(live), action: "closed", sender: writer });
    const command = await intake.send("issue_comment", commented("/countersign stop", live));

    expect(closed.body).toEqual({ result: "ignored", code: "already_stopping" });
    expect(command.body).toEqual({ result: "answered", code: "already_stopping" });
    expect(await runOf(live.repository.id)).toMatchObject({ stop_requested_by_id: "808", stop_cause: "label_removed" });
  });
});

describe("nothing is stopped", () => {
  it.each([
    ["the removal of another label", (run: Live) => unlabelled(run, { label: { name: "bug" } }), "other_label"],
    [
      "our own App",
      (run: Live) => unlabelled(run, { sender: { id: ownApp.botUserId, login: "c[bot]", type: "Bot" } }),
      "own_app",
    ],
    ["another issue", (run: Live) => unlabelled(run, { issue: { ...run.issue, number: 8 } }), "nothing_live"],
    ["another repository", (run: Live) => unlabelled(run, { repository: { id: 3 } }), "nothing_live"],
    [
      "what happened before the run was asked for",
      (run: Live) => unlabelled(run, { issue: { ...run.issue, updated_at: "2025-12-31T23:59:59Z" } }),
      "older_than_run",
    ],
    ["an edit", (run: Live) => ({ ...unlabelled(run), action: "edited" }), "action_not_handled"],
    ["a lock", (run: Live) => ({ ...unlabelled(run), action: "locked" }), "action_not_handled"],
  ])("by %s", async (_case, payloadOf, code) => {
    const live = await liveRun();

    const { body } = await intake.send("issues", payloadOf(live));

    expect(body).toEqual({ result: "ignored", code });
    expect((await runOf(live.repository.id)).stop_requested_at).toBeNull();
  });

  it("where the run has ended", async () => {
    const live = await liveRun();
    await finish(live.repository.id);

    expect((await intake.send("issues", unlabelled(live))).body).toEqual({ result: "ignored", code: "nothing_live" });
  });

  it("and a stop that found nothing doesn't swallow the next one of the same content", async () => {
    const installation = { id: 77 };
    const suspended = { action: "suspend", installation, sender: stranger };
    expect((await intake.send("installation", suspended)).body).toMatchObject({ code: "nothing_live" });
    const live = await liveRun({ installation, issue: { updated_at: "2026-01-01T00:00:01Z" } });

    expect((await intake.send("installation", suspended)).body).toEqual({ result: "stopped", code: "done" });
    expect((await runOf(live.repository.id)).stop_cause).toBe("installation_suspended");
  });

  it("twice by one stop under two delivery ids", async () => {
    const live = await liveRun();
    const payload = unlabelled(live);

    const sent = await Promise.all([intake.send("issues", payload), intake.send("issues", payload)]);

    expect(sent.filter(({ body }) => body["result"] === "stopped")).toHaveLength(1);
    const entries = await readRunEntries(store, (await runOf(live.repository.id)).run_id as RunId);
    expect(entries.filter(({ evidence }) => evidence["kind"] === "stop_requested")).toHaveLength(1);
  });
});

it("the ledger of all this verifies", async () => {
  expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
});
