import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { verifyStored } from "../../src/ledger/index.ts";
import { interceptedLedger } from "../support/gateway.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import { commented, intakeDeps, labelled, startIntake, type TestIntake, writer } from "../support/webhooks.ts";

/** For hangs alone. */
vi.setConfig({ testTimeout: 240_000 });
const caseCount = 80;

let store: TestStore;
let held: TestLedger;
/** Two servers on one database, as two processes would be: each with a ledger of its own. */
let intakes: readonly [TestIntake, TestIntake];
/** What GitHub's answer to a permission look-up waits for, by the login that is asked about. */
const answers = new Map<string, Promise<void>>();

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  const open = async () => {
    const deps = intakeDeps(store, held, await held.open(store));
    const permission = async (_place: unknown, login: string) => {
      await answers.get(login);
      return { permission: "write", userId: writer.id, requestId: null } as const;
    };
    return startIntake({ ...deps, github: { ...deps.github, permission } });
  };
  intakes = [await open(), await open()];
});
afterAll(async () => {
  for (const intake of intakes) await intake[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const runsOf = (repositoryId: number) =>
  store.db.selectFrom("runs").selectAll().where("repository_id", "=", String(repositoryId)).execute();

const atSecond = (second: number): string => new Date(held.now.ms + second * 1000).toISOString();

/** An item of a repository of its own, and what happens to it. */
function anItem() {
  const { repository, issue, installation } = labelled();
  const at = (second: number) => ({ ...issue, updated_at: atSecond(second) });
  const by = { repository, installation, sender: writer };
  return {
    repositoryId: repository.id,
    installation,
    label: (second: number, login: string = writer.login) =>
      ["issues", labelled({ repository, issue: at(second), sender: { login } })] as const,
    command: (text: string, second: number, login: string = writer.login) =>
      [
        "issue_comment",
        commented(text, { repository, issue, comment: { created_at: atSecond(second) }, sender: { login } }),
      ] as const,
    item: (action: string, second: number) =>
      ["issues", { action, label: { name: "countersign" }, issue: at(second), ...by }] as const,
    removed: () =>
      ["installation_repositories", { ...by, action: "removed", repositories_removed: [repository] }] as const,
  };
}
type Item = ReturnType<typeof anItem>;
type Delivered = readonly [event: string, payload: object];

describe("a stop that is stored before the run that it means (GH-13, GH-21)", () => {
  it.each([
    ["a label that is taken off", (item: Item) => item.item("unlabeled", 1)],
    ["an item that is closed", (item: Item) => item.item("closed", 1)],
    ["an item that is transferred", (item: Item) => item.item("transferred", 1)],
    ["the command `/countersign stop`", (item: Item) => item.command("/countersign stop", 1)],
    ["a repository taken out of the installation", (item: Item) => item.removed()],
    ["a label that is taken off in the same second", (item: Item) => item.item("unlabeled", 0)],
  ])("keeps it from being made: %s", async (_case, stopOf: (item: Item) => Delivered) => {
    const item = anItem();
    const slow = Promise.withResolvers<void>();
    const login = `slow-${item.repositoryId}`;
    answers.set(login, slow.promise);

    const asked = intakes[0].send(...item.label(0, login));
    const stopped = await intakes[1].send(...stopOf(item));
    slow.resolve();

    expect(stopped.body["code"]).toMatch(/^nothing_/);
    expect((await asked).body).toEqual({ result: "refused", code: "stopped_since" });
    expect(await runsOf(item.repositoryId)).toEqual([]);
  });

  it("stops it where it is stored between the look for it and the record", async () => {
    const item = anItem();
    const ledger = interceptedLedger(await held.open(store), async (count) => {
      if (count === 1) await intakes[0].send(...item.label(0));
    });
    await using slow = await startIntake(intakeDeps(store, held, ledger));

    const sent = await slow.send(...item.item("unlabeled", 1));

    expect(sent.body).toEqual({ result: "stopped", code: "done" });
    expect(await runsOf(item.repositoryId)).toMatchObject([{ stop_cause: "label_removed" }]);
  });

  it("keeps no later request from being done", async () => {
    const item = anItem();
    await intakes[0].send(...item.item("unlabeled", 1));
    await intakes[0].send(...item.removed());
    held.now.ms += 10_000;

    const sent = await intakes[1].send(...item.label(2));

    expect(sent.body).toEqual({ result: "started", code: "done" });
    expect(await runsOf(item.repositoryId)).toMatchObject([{ status: "queued", stop_requested_at: null }]);
  });

  it("is of that item alone", async () => {
    const item = anItem();
    await intakes[0].send(...anItem().item("closed", 5));

    expect((await intakes[1].send(...item.label(0))).body).toEqual({ result: "started", code: "done" });
  });
});

/** What may happen to an item, in the order in which it happens, one a second. */
const happening = fc.constantFrom("label", "fix", "unlabeled", "closed", "stop");
const starts: ReadonlySet<string> = new Set(["label", "fix"]);
/** In which order the deliveries come, whose look-ups are answered late, and which server has which. */
const story = fc
  .array(happening, { minLength: 2, maxLength: 4 })
  .chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.shuffledSubarray([...events.keys()], { minLength: events.length }),
      fc.shuffledSubarray([...events.keys()], { minLength: events.length }),
      fc.array(fc.boolean(), { minLength: events.length, maxLength: events.length }),
    ),
  );

describe("events of an item whose deliveries come and are stored in any order", () => {
  it("leave a run to work on only where nothing stopped it after it was asked for", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ([events, deliveryOrder, answerOrder, isSecond]) => {
        const item = anItem();
        const gates = events.map(() => Promise.withResolvers<void>());
        const send = (at: number) => {
          const login = `story-${item.repositoryId}-${at}`;
          answers.set(login, gates[at]?.promise ?? Promise.resolve());
          const intake = isSecond[at] === true ? intakes[1] : intakes[0];
          return intake.send(...deliveryOf(item, events[at] ?? "", at, login));
        };
        const sent = deliveryOrder.map(send);
        for (const at of answerOrder) {
          gates[at]?.resolve();
          if (at % 2 === 0) await new Promise(setImmediate);
        }
        const stored = await Promise.all(sent);
        const lastStop = events.findLastIndex((event) => !starts.has(event));
        const runs = await runsOf(item.repositoryId);
        const going = runs.filter(({ stop_requested_at: stopped }) => stopped === null);

        expect(stored.map(({ status }) => status)).toEqual(events.map(() => 202));
        for (const { triggered_at: at } of going) expect(Date.parse(at ?? "")).toBeGreaterThan(secondOf(lastStop));
        // Where the last event is a request, it is done, unless it found a run that was still to be ended.
        const isDue = lastStop < events.length - 1 && runs.length === going.length;
        expect(going.length).toBeGreaterThanOrEqual(isDue ? 1 : 0);
      }),
      { numRuns: caseCount },
    );
  });

  it("are all on record", async () => {
    expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
  });
});

const secondOf = (at: number): number => (at < 0 ? 0 : Date.parse(atSecond(at)));

function deliveryOf(item: Item, event: string, second: number, login: string): Delivered {
  if (event === "label") return item.label(second, login);
  if (event === "fix" || event === "stop") return item.command(`/countersign ${event}`, second, login);
  return item.item(event, second);
}
