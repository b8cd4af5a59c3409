import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Conclusion, CountersignError, type RunId, type Trigger } from "../../src/domain/index.ts";
import type { IntakeDeps } from "../../src/intake/index.ts";
import { readRunEntries, readRunTexts } from "../../src/ledger/index.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import {
  commented,
  intakeDeps,
  labelled,
  newDeliveryId,
  operatorWith,
  ownApp,
  startIntake,
  writer,
} from "../support/webhooks.ts";

let store: TestStore;
let held: TestLedger;

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
});
afterAll(async () => {
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const depsWith = (changes: Partial<IntakeDeps> = {}): IntakeDeps => ({ ...intakeDeps(store, held), ...changes });

/** Sends one delivery to a server of its own and answers with what was stored. */
async function deliver(event: string, payload: object, changes: Partial<IntakeDeps> = {}, id = newDeliveryId()) {
  await using intake = await startIntake(depsWith(changes));
  const sent = await intake.send(event, payload, { id });
  const row = await store.db
    .selectFrom("deliveries")
    .selectAll()
    .where("delivery_id", "=", id as never)
    .executeTakeFirst();
  const jobs = await jobsOf(id, row?.run_id ?? null);
  return { ...sent, id, row, jobs };
}

/** Names of the jobs that were enqueued for a delivery, by their data in clear. */
async function jobsOf(deliveryId: string, runId: RunId | null): Promise<readonly string[]> {
  const rows = await store
    .sql<{ name: string; data: { runId?: string; deliveryId?: string } }>(
      "select name, data from pgboss.job where data->>'deliveryId' = $1 or data->>'runId' = $2 order by name",
      [deliveryId, runId],
    )
    .catch(() => []);
  return rows.map(({ name }) => name);
}

async function textOf(runId: RunId, field: string): Promise<string> {
  const [text] = await readRunTexts({ store, keys: held.keys }, runId, field);
  return Buffer.from(text?.bytes ?? []).toString();
}

const runsOf = (repositoryId: number) =>
  store.db.selectFrom("runs").selectAll().where("repository_id", "=", String(repositoryId)).execute();

const entriesOf = (deliveryId: string) =>
  store.sql<{ type: string; evidence: { kind?: string; result?: string; code?: string; cause?: string } }>(
    "select type, convert_from(body, 'UTF8')::json -> 'evidence' as evidence from ledger_entries where delivery_id = $1",
    [deliveryId],
  );

/** Ends the live runs of a repository. */
const finish = (
  repositoryId: number,
  end: { readonly conclusion?: Conclusion; readonly completed_at?: string; readonly used_tokens?: number } = {},
) =>
  store.db
    .updateTable("runs")
    .set({ status: "completed", conclusion: "neutral", completed_at: new Date(held.now.ms).toISOString(), ...end })
    .where("repository_id", "=", String(repositoryId))
    .where("status", "!=", "completed")
    .execute();

describe("the label by a writer", () => {
  it("makes one queued run with its job, its row and its sealed trigger", async () => {
    const payload = labelled();

    const { status, body, row, jobs, id } = await deliver("issues", payload);

    expect({ status, body }).toEqual({ status: 202, body: { result: "started", code: "done" } });
    const [run] = await runsOf(payload.repository.id);
    expect(run).toMatchObject({
      status: "queued",
      conclusion: null,
      repository_name: "octo/shop",
      requester_id: "501",
      requester_permission: "write",
      issue_number: 7,
      item_kind: "issue",
      trigger_verb: "fix",
      installation_id: 31,
      delivery_id: id,
      base_sha: "",
      stop_requested_at: null,
      limits: { turns: 100, minutes: 60 },
    });
    expect(row).toMatchObject({ run_id: run?.run_id, result: "started", event: "issues.labeled", answer: null });
    expect(jobs).toEqual(["run"]);
    const entries = await readRunEntries(store, run?.run_id as RunId);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ type: "run", deliveryId: id, evidence: { status: "queued", verb: "fix" } });
    const text = (field: string) => textOf(run?.run_id as RunId, field);
    expect(JSON.parse(await text("trigger")) as Trigger).toMatchObject({
      verb: "fix",
      byLabel: true,
      reactTo: { kind: "issue", issue: 7 },
      title: "Totals are wrong",
      body: "The sum is one too low.",
      request: "",
      at: "2026-01-01T00:00:00.000Z",
      author: { id: 777, canWrite: false },
      textDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await text("issue_title")).toBe("Totals are wrong");
    expect(JSON.parse(await text("requester"))).toMatchObject({ id: "501", login: "ada", permission: "write" });
  });

  it("leaves no word of the payload in the ledger, the deliveries or the queue", async () => {
    const payload = labelled({
      issue: { title: "planted-title", body: "planted-body" },
      sender: { login: "planted-login" },
    });

    const { row } = await deliver("issues", payload);

    const [jobs] = await store.sql<{ text: string }>(
      "select coalesce(string_agg(data::text, ''), '') as text from pgboss.job",
    );
    const [log] = await store.sql<{ text: string }>(
      "select string_agg(convert_from(body, 'UTF8'), '') as text from ledger_entries",
    );
    expect(`${JSON.stringify(row)} ${jobs?.text} ${log?.text}`).not.toMatch(/planted/);
  });

  it.each([
    ["in other case", "Countersign"],
    ["with a space after it", "countersign "],
    ["with a tab after it", "countersign\t"],
    ["with a space before it", " countersign"],
    ["with Cyrillic letters", "\u0441\u043euntersign"],
    ["in full-width letters", "\uff43ountersign"],
    ["with a zero-width space", "counter\u200bsign"],
    ["with a soft hyphen", "counter\u00adsign"],
    ["with a long s", "counter\u017fign"],
    ["of another name", "bug"],
  ])("%s starts nothing (AT-10, SEC-33)", async (_case, name) => {
    const payload = labelled({ label: { name } });

    const { status, row, jobs } = await deliver("issues", payload);

    expect({ status, row, jobs }).toMatchObject({
      status: 202,
      row: { result: "ignored", code: "other_label" },
      jobs: [],
    });
    expect(await runsOf(payload.repository.id)).toEqual([]);
  });

  it.each([
    ["on a closed issue", { issue: { state: "closed" } }, "item_closed"],
    ["on a pull request", { issue: { pull_request: {} } }, "item_is_pull_request"],
    ["by a bot", { sender: { type: "Bot" } }, "bot_actor"],
    ["by an organization", { sender: { type: "Organization" } }, "bot_actor"],
    ["by our own App", { sender: { id: ownApp.botUserId, type: "Bot" } }, "own_app"],
  ])("%s is ignored and nobody is told (AT-7, SEC-30)", async (_case, changes, code) => {
    const { row, jobs, id } = await deliver("issues", labelled(changes));

    expect({ row, jobs }).toMatchObject({ row: { result: "ignored", code, answer: null, run_id: null }, jobs: [] });
    expect(await entriesOf(id)).toEqual([
      { type: "service", evidence: { kind: "delivery", event: "issues.labeled", result: "ignored", code } },
    ]);
  });

  it("by a bot that the operator lists is asked about like a person", async () => {
    const allowed = operatorWith({ allowed_bots: [writer.id] });

    const { row } = await deliver("issues", labelled({ sender: { type: "Bot" } }), { operator: allowed });

    expect(row).toMatchObject({ result: "started" });
  });

  it("by our own App starts nothing even where it is listed (AT-7)", async () => {
    const allowed = operatorWith({ allowed_bots: [ownApp.botUserId] });

    const { row } = await deliver("issues", labelled({ sender: { id: ownApp.botUserId } }), { operator: allowed });

    expect(row).toMatchObject({ result: "ignored", code: "own_app" });
  });

  it("on a null body and a null author starts a run", async () => {
    const { row } = await deliver("issues", labelled({ issue: { body: null, user: null } }));

    expect(row).toMatchObject({ result: "started" });
  });
});

describe("who may not write (AT-6, AT-8, SEC-31, SEC-32)", () => {
  const github = intakeGithub("write");
  function intakeGithub(permission: "admin" | "maintain" | "write" | "read" | "none", userId: number = writer.id) {
    return {
      permission: async () => ({ permission, userId, requestId: null }),
      issue: async () => ({ isOpen: true, labels: [] }),
      comment: async () => null,
    };
  }

  it.each([
    ["reads, as triage does", intakeGithub("read"), "permission_missing", "read"],
    ["has none", intakeGithub("none"), "permission_missing", "none"],
    ["is not the one that the answer is about", intakeGithub("admin", 999), "permission_missing", "another_user"],
  ])("because the sender %s gets a `confused` reaction and no run", async (_case, answered, code, cause) => {
    const payload = labelled({ issue: { author_association: "MEMBER" } });

    const { status, row, jobs, id } = await deliver("issues", payload, { github: answered });

    expect({ status, row, jobs }).toMatchObject({
      status: 202,
      row: { result: "refused", code, answer: "confused", detail: { cause } },
      jobs: ["answer"],
    });
    expect((await entriesOf(id))[0]?.evidence).toMatchObject({ code, cause });
    expect(await runsOf(payload.repository.id)).toEqual([]);
  });

  it.each(["GITHUB_NOT_FOUND", "GITHUB_SUSPENDED", "GITHUB_UNAVAILABLE", "GITHUB_ANSWER_UNREADABLE"] as const)(
    "because GitHub answered with %s is refused with that cause, and asked no more",
    async (code) => {
      let calls = 0;
      const failing = {
        ...github,
        permission: () => {
          calls += 1;
          return Promise.reject(new CountersignError(code, "no answer"));
        },
      };

      const { row } = await deliver("issues", labelled(), { github: failing });

      expect(row).toMatchObject({ result: "refused", code: "permission_unknown", detail: { cause: code } });
      expect(calls).toBe(1);
    },
  );

  it("because GitHub hangs is refused after the time that a look-up has", async () => {
    const hanging = { ...github, permission: () => new Promise<never>(() => undefined) };
    const times = { ...depsWith().times, permissionMs: 20 };

    const { row } = await deliver("issues", labelled(), { github: hanging, times });

    expect(row).toMatchObject({ code: "permission_unknown", detail: { cause: "timeout" } });
  });
});

describe("a signed payload that the store can't hold", () => {
  it.each([
    ["a number without end", { issue: { number: 2_147_483_648 } }],
    ["a name with a NUL", { repository: { name: "ho\u0000urs" } }],
    ["a login with a NUL", { sender: { ...writer, login: "a\u0000da" } }],
  ])("for %s is recorded as of another shape", async (_case, changes) => {
    const { row } = await deliver("issues", labelled(changes));

    expect(row).toMatchObject({ result: "ignored", code: "shape_unknown" });
  });
});

describe("a run that can't be now (SEC-5, SEC-35)", () => {
  it.each([
    ["the repository is archived", { repository: { archived: true } }, "repository_archived"],
    ["the repository is disabled", { repository: { disabled: true } }, "repository_disabled"],
    ["the repository is a fork", { repository: { fork: true } }, "fork_not_permitted"],
    ["the issue has no text", { issue: { title: " \n", body: "\t" } }, "issue_without_text"],
    ["the time is missing", { issue: { updated_at: null } }, "trigger_time_unreadable"],
    [
      "it was asked for before the keys that are kept",
      { issue: { updated_at: "2025-12-01T00:00:00Z" } },
      "trigger_too_old",
    ],
    ["the time can't be read", { issue: { updated_at: "yesterday" } }, "trigger_time_unreadable"],
    ["the time is of another form", { issue: { updated_at: "1/1/2026" } }, "trigger_time_unreadable"],
    ["the time is of no year", { issue: { updated_at: "+275760-09-12T00:00:00Z" } }, "trigger_time_unreadable"],
  ])("because %s is answered", async (_case, changes, code) => {
    const payload = labelled(changes);

    const { row, jobs } = await deliver("issues", payload);

    expect({ row, jobs }).toMatchObject({ row: { result: "refused", code, answer: "comment" }, jobs: ["answer"] });
    expect(await runsOf(payload.repository.id)).toEqual([]);
  });

  it("in a fork that the operator lists is made", async () => {
    const payload = labelled({ repository: { fork: true } });
    const permitted = operatorWith({ permitted_forks: [payload.repository.id] });

    expect((await deliver("issues", payload, { operator: permitted })).row).toMatchObject({ result: "started" });
  });

  it("because the service is paused is answered, and made once it is resumed", async () => {
    const pause = (paused: boolean) => store.db.updateTable("service_state").set({ paused }).execute();
    await pause(true);
    const payload = labelled();

    const refused = await deliver("issues", payload);
    await pause(false);
    const started = await deliver("issues", {
      ...payload,
      issue: { ...payload.issue, updated_at: "2026-01-01T00:00:01Z" },
    });

    expect(refused.row).toMatchObject({ result: "refused", code: "paused", answer: "comment" });
    expect(started.row).toMatchObject({ result: "started" });
  });

  it("because one is live is answered with that one", async () => {
    const payload = labelled();
    const first = await deliver("issues", payload);

    const second = await deliver("issue_comment", commented("/countersign fix", { repository: payload.repository }));

    expect(second.row).toMatchObject({ result: "refused", code: "run_live", run_id: first.row?.run_id });
    expect(await runsOf(payload.repository.id)).toHaveLength(1);
  });

  it.each([
    ["issue", "hour", { runs_per_issue: { hour: 1 } }, 7],
    ["issue", "day", { runs_per_issue: { day: 1 } }, 7],
    ["repository", "hour", { runs_per_repository: { hour: 1 } }, 8],
    ["repository", "day", { runs_per_repository: { day: 1 } }, 8],
  ])("because the cap of the %s for a %s is reached is told its name", async (of, span, caps, number) => {
    const payload = labelled();
    const settings = { operator: operatorWith({ caps }) };
    await deliver("issues", payload, settings);
    await finish(payload.repository.id);

    const more = await deliver("issues", labelled({ repository: payload.repository, issue: { number } }), settings);

    expect(more.row).toMatchObject({ result: "refused", code: `cap_${of}_${span}`, answer: "comment" });
  });

  it("because the cap of the sender is reached is told so, in whatever repository", async () => {
    const sender = { id: 60_606, login: "eve" };
    const settings = {
      operator: operatorWith({ caps: { runs_per_sender: { hour: 1 } } }),
      github: {
        ...depsWith().github,
        permission: async () => ({ permission: "write", userId: sender.id, requestId: null }) as const,
      },
    };
    await deliver("issues", labelled({ sender }), settings);

    expect((await deliver("issues", labelled({ sender }), settings)).row).toMatchObject({ code: "cap_sender_hour" });
  });

  it("because the tokens of the day are spent is told so: ended runs count what they used, others all they may", async () => {
    const [{ spent = 0 } = {}] = await store.sql<{ spent: number }>(
      `select sum(coalesce(used_tokens, (limits ->> 'inputTokens')::bigint + (limits ->> 'outputTokens')::bigint))::bigint
         as spent from runs`,
    );
    const limits = { input_tokens: 90, output_tokens: 10 };
    // Enough for two runs, beside what the others of this database may use.
    const settings = { operator: operatorWith({ limits, caps: { tokens_per_day: spent + 250 } }) };
    const first = labelled();
    const refusedAt = async () => (await deliver("issues", labelled(), settings)).row?.code;

    await deliver("issues", first, settings);
    const second = await refusedAt();
    const third = await refusedAt();
    await finish(first.repository.id, { used_tokens: 20 });
    const fourth = await refusedAt();
    const fifth = await refusedAt();

    expect([second, third, fourth, fifth]).toEqual(["done", "cap_tokens_day", "done", "cap_tokens_day"]);
  });

  describe("because the last runs in its repository all failed (SEC-35)", () => {
    const caps = { failures_per_repository: { in_a_row: 2, minutes: 30 } };
    let now = Date.UTC(2026, 0, 1, 0, 1);
    const settings = { operator: operatorWith({ caps }), clock: () => now };
    let number = 0;
    async function ends(repository: { readonly id: number }, conclusion: Conclusion): Promise<void> {
      number += 1;
      const sent = await deliver("issues", labelled({ repository, issue: { number } }), settings);
      expect(sent.row).toMatchObject({ result: "started" });
      now += 1_000;
      await finish(repository.id, { conclusion, completed_at: new Date(now).toISOString() });
    }
    const asked = async (repository: { readonly id: number }) =>
      (await deliver("issues", labelled({ repository, issue: { number: 999 } }), settings)).row;

    it("is told so, in that repository alone, until its time has gone by; then one is let through", async () => {
      const { repository } = labelled();
      await ends(repository, "failure");
      await ends(repository, "timed_out");

      const refused = await asked(repository);
      const elsewhere = await asked(labelled().repository);
      now += 30 * 60_000;
      await ends(repository, "failure");
      const again = await asked(repository);

      expect(refused).toMatchObject({ result: "refused", code: "repeated_failures", answer: "comment" });
      expect(elsewhere).toMatchObject({ result: "started" });
      expect(again).toMatchObject({ code: "repeated_failures" });
    });

    it.each(["success", "neutral", "action_required"] as const)(
      "does not hold after one that ended `%s`",
      async (end) => {
        const { repository } = labelled();
        for (const conclusion of ["failure", "failure", end, "failure"] as const) {
          if (conclusion === end) now += 31 * 60_000;
          await ends(repository, conclusion);
        }

        expect(await asked(repository)).toMatchObject({ result: "started" });
      },
    );

    it("is no matter of cancelled runs, which neither fail nor succeed", async () => {
      const { repository } = labelled();
      await ends(repository, "failure");
      await ends(repository, "cancelled");
      await ends(repository, "failure");

      expect(await asked(repository)).toMatchObject({ code: "repeated_failures" });
    });
  });

  it("because it was delivered late and the label is gone is refused", async () => {
    const github = { ...depsWith().github, issue: async () => ({ isOpen: true, labels: ["bug"] }) };
    const clock = () => held.now.ms + 3_600_000;

    expect((await deliver("issues", labelled(), { github, clock })).row).toMatchObject({ code: "label_gone" });
    expect((await deliver("issues", labelled(), { clock })).row).toMatchObject({ result: "started" });
  });
});

describe("the time of what was asked for", () => {
  const earlier = "2025-12-31T20:00:00Z";
  const later = "2026-01-01T00:00:09Z";

  it.each([
    ["a label is the issue's last change", "issues", labelled({ issue: { created_at: earlier, updated_at: later } })],
    [
      "a comment is its making, whatever was edited since",
      "issue_comment",
      commented("/countersign fix", {
        issue: { created_at: earlier, updated_at: earlier },
        comment: { created_at: later, updated_at: "2026-01-01T00:00:30Z" },
      }),
    ],
  ])("of %s", async (_case, event, payload) => {
    const { row } = await deliver(event, payload);

    const trigger = JSON.parse(await textOf(row?.run_id as RunId, "trigger")) as Trigger;
    expect(Date.parse(trigger.at)).toBe(Date.parse(later));
  });

  it("of a comment that has none is refused, though its issue has one", async () => {
    const { row } = await deliver("issue_comment", commented("/countersign fix", { comment: { created_at: null } }));

    expect(row).toMatchObject({ result: "refused", code: "trigger_time_unreadable" });
  });
});

describe("a command", () => {
  it.each(["fix", "retry"] as const)("`%s` makes a run with the request and reacts to the comment", async (verb) => {
    const payload = commented(`/countersign ${verb} keep the API\nplease`);

    const { row, jobs } = await deliver("issue_comment", payload);

    expect({ row, jobs }).toMatchObject({ row: { result: "started", comment_id: payload.comment.id }, jobs: ["run"] });
    expect(JSON.parse(await textOf(row?.run_id as RunId, "trigger"))).toMatchObject({
      verb,
      byLabel: false,
      request: "keep the API\nplease",
      reactTo: { kind: "issue_comment", comment: payload.comment.id },
    });
  });

  it.each([
    ["help", {}, "answered", "help"],
    ["merge", {}, "answered", "command_unknown"],
    ["approve", {}, "answered", "command_unknown"],
    ["approve abc", {}, "refused", "approval_unknown"],
    ["deny abc too risky", {}, "refused", "approval_unknown"],
    ["explain abc", {}, "answered", "explain_on_command_line"],
    ["stop", {}, "answered", "nothing_to_stop"],
    ["revise", {}, "refused", "item_is_issue"],
    ["revise", { issue: { pull_request: {} } }, "answered", "command_later"],
    ["retry", { issue: { pull_request: {} } }, "answered", "command_later"],
    ["fix", { issue: { pull_request: {} } }, "refused", "item_is_pull_request"],
    ["fix", { issue: { state: "closed" } }, "refused", "item_closed"],
  ])("`%s` that starts nothing is answered", async (line, changes, result, code) => {
    const payload = commented(`/countersign ${line}`, changes);

    const { row, jobs } = await deliver("issue_comment", payload);

    expect({ row, jobs }).toMatchObject({ row: { result, code, answer: "comment" }, jobs: ["answer"] });
    expect(await runsOf(payload.repository.id)).toEqual([]);
  });

  it("`explain` keeps the id for its answer", async () => {
    expect((await deliver("issue_comment", commented("/countersign explain a-1"))).row?.detail).toEqual({
      verb: "explain",
      commandCount: 1,
      id: "a-1",
    });
  });

  it.each([
    ["in a quote", commented("> /countersign fix"), "no_command"],
    [
      "through another app",
      commented("/countersign fix", { comment: { performed_via_github_app: { id: 12 } } }),
      "app_actor",
    ],
    [
      "through our own App",
      commented("/countersign fix", { comment: { performed_via_github_app: { id: ownApp.id } } }),
      "own_app",
    ],
    ["by a bot", commented("/countersign fix", { sender: { type: "Bot" } }), "bot_actor"],
  ])("%s is ignored, and nobody is asked about it", async (_case, payload, code) => {
    const github = { ...depsWith().github, permission: () => Promise.reject(new Error("asked")) };

    const { row, jobs } = await deliver("issue_comment", payload, { github });

    expect({ row, jobs }).toMatchObject({ row: { result: "ignored", code, answer: null }, jobs: [] });
  });

  it("by someone who may not write gets no comment, whatever it is", async () => {
    const github = {
      ...depsWith().github,
      permission: async () => ({ permission: "read", userId: writer.id, requestId: null }) as const,
    };

    for (const line of ["help", "merge", "stop", "fix"]) {
      const { row } = await deliver("issue_comment", commented(`/countersign ${line}`), { github });

      expect(row).toMatchObject({ result: "refused", code: "permission_missing", answer: "confused" });
    }
  });

  it("in an edited comment changes nothing", async () => {
    const { row } = await deliver("issue_comment", { ...commented("/countersign fix"), action: "edited" });

    expect(row).toMatchObject({ result: "ignored", code: "action_not_handled", event: "issue_comment.edited" });
  });
});

describe("a transaction that fails", () => {
  it("keeps nothing of a run, answers 500, and its redelivery makes the run", async () => {
    const payload = labelled();
    const id = newDeliveryId();
    const sizeBefore = (await held.ledger.head()).size;
    const queue = { enqueue: () => Promise.reject(new CountersignError("LEDGER_UNAVAILABLE", "the queue is gone")) };
    const troubles: string[] = [];
    const onTrouble = (line: string): void => void troubles.push(line);

    const failed = await deliver("issues", payload, { queue, onTrouble }, id);

    expect(failed).toMatchObject({ status: 500, body: { error: "LEDGER_UNAVAILABLE" }, row: undefined, jobs: [] });
    expect(troubles).toEqual([`delivery ${id} could not be stored: LEDGER_UNAVAILABLE`]);
    expect(await runsOf(payload.repository.id)).toEqual([]);
    expect((await held.ledger.head()).size).toBe(sizeBefore);

    const again = await deliver("issues", payload, {}, id);

    expect(again).toMatchObject({ status: 202, body: { result: "started" } });
    expect(await runsOf(payload.repository.id)).toHaveLength(1);
  });

  it("of a refusal keeps nothing either", async () => {
    const queue = { enqueue: () => Promise.reject(new Error("a bug")) };

    const failed = await deliver("issue_comment", commented("/countersign help"), { queue });

    expect(failed).toMatchObject({ status: 500, body: { error: "bug" }, row: undefined });
    expect(await entriesOf(failed.id)).toEqual([]);
  });
});

describe("a repetition (AT-4, SEC-112)", () => {
  it("under the same id answers 202, is recorded, and makes nothing", async () => {
    const payload = labelled();
    const id = newDeliveryId();
    await deliver("issues", payload, {}, id);

    const again = await deliver("issues", payload, {}, id);

    expect(again).toMatchObject({ status: 202, body: { result: "ignored", code: "duplicate_delivery" } });
    expect(await runsOf(payload.repository.id)).toHaveLength(1);
    expect((await entriesOf(id)).map(({ evidence }) => evidence.code ?? "run")).toEqual(["run", "duplicate_delivery"]);
  });

  it("under another id is found by what was signed, also once the run has ended", async () => {
    const payload = labelled();
    await deliver("issues", payload);
    await finish(payload.repository.id);

    const again = await deliver("issues", payload);

    expect(again).toMatchObject({ status: 202, body: { code: "duplicate_content" }, row: { run_id: null }, jobs: [] });
    expect(await runsOf(payload.repository.id)).toHaveLength(1);
  });

  it("of a comment is found by its id", async () => {
    const payload = commented("/countersign help");
    await deliver("issue_comment", payload);

    const again = await deliver("issue_comment", { ...payload, unsigned_noise: 1 });

    expect(again).toMatchObject({ body: { code: "duplicate_content" }, jobs: [] });
  });

  it("of an ignored event under the same id is recorded once", async () => {
    const id = newDeliveryId();
    await deliver("star", { action: "created" }, {}, id);

    expect(await deliver("star", { action: "created" }, {}, id)).toMatchObject({
      body: { code: "duplicate_delivery" },
    });
  });

  it("is no second labelling in the same second, whose body differs", async () => {
    const payload = labelled();
    await deliver("issues", payload);
    await finish(payload.repository.id);

    const second = await deliver("issues", { ...payload, issue: { ...payload.issue, comments: 1 } });

    expect(second.row).toMatchObject({ result: "started" });
  });
});

describe("two processes at once (C-10, AUD-67) (AT-4)", () => {
  async function inTwo<Value>(
    work: (
      one: Awaited<ReturnType<typeof startIntake>>,
      other: Awaited<ReturnType<typeof startIntake>>,
    ) => Promise<Value>,
  ) {
    await using otherStore = await openTestStore({ database: store.database });
    const otherDeps = intakeDeps(otherStore, held, await held.open(otherStore));
    await using one = await startIntake(depsWith());
    await using other = await startIntake(otherDeps);
    return await work(one, other);
  }

  it("make one run of one delivery", async () => {
    await inTwo(async (one, other) => {
      for (let round = 0; round < 5; round += 1) {
        const payload = labelled();
        const id = newDeliveryId();

        const sent = await Promise.all([one, other, one, other].map((to) => to.send("issues", payload, { id })));

        expect(sent.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
        expect(sent.map(({ body }) => body["result"]).sort()).toEqual(["ignored", "ignored", "ignored", "started"]);
        expect(await runsOf(payload.repository.id)).toHaveLength(1);
      }
    });
  });

  it("make one run of one labelling under two delivery ids", async () => {
    await inTwo(async (one, other) => {
      const payload = labelled();

      const sent = await Promise.all([one.send("issues", payload), other.send("issues", payload)]);

      expect(sent.map(({ body }) => body["code"]).sort()).toEqual(["done", "duplicate_content"]);
      expect(await runsOf(payload.repository.id)).toHaveLength(1);
    });
  });

  it("make one live run of a label and a command", async () => {
    await inTwo(async (one, other) => {
      const payload = labelled();
      const comment = commented("/countersign fix", { repository: payload.repository });

      const sent = await Promise.all([one.send("issues", payload), other.send("issue_comment", comment)]);

      expect(sent.map(({ body }) => body["code"]).sort()).toEqual(["done", "run_live"]);
      expect(await runsOf(payload.repository.id)).toHaveLength(1);
    });
  });

  it("keep to a cap", async () => {
    const settings = { operator: operatorWith({ caps: { runs_per_repository: { hour: 2 } } }) };
    const { repository } = labelled();
    await using one = await startIntake(depsWith(settings));
    await using otherStore = await openTestStore({ database: store.database });
    await using other = await startIntake({
      ...intakeDeps(otherStore, held, await held.open(otherStore)),
      ...settings,
    });

    const sent = await Promise.all(
      [one, other, one, other, one].map((to, at) =>
        to.send("issues", labelled({ repository, issue: { number: at + 1 } })),
      ),
    );

    expect(sent.filter(({ body }) => body["result"] === "started")).toHaveLength(2);
    expect(await runsOf(repository.id)).toHaveLength(2);
  });
});
