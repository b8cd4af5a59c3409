import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type GithubPlace, openGithubPlace, type RunningService } from "../../support/github-service.ts";
import { call, finish, startPlannedModel } from "../../support/planned-model.ts";
import { writeTinyRepository } from "../../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const longCommand = call("run_command", { command: "sleep 200", timeout_s: 250 });
const leaseMs = 3_000;

let place: GithubPlace;
let service: RunningService;
let closeModel: () => Promise<void>;

beforeAll(async () => {
  const model = await startPlannedModel([longCommand, finish]);
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const pace = { writeIntervalMs: 0, lookIntervalMs: 10, requestTimeoutMs: 60_000, stopPollMs: 50 };
  service = await place.serve({
    policiesFolder: place.policiesFor(1),
    pace: { ...pace, leaseMs, renewEveryMs: 200 },
  });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };
const rows = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await place.countersign.store?.sql<Record<string, unknown>>("select * from runs order by run_id")) ?? [];

async function ask(name: string): Promise<number> {
  const number = await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
  await place.github.label({ repository: `acme/${name}`, number }, "countersign", "alice");
  return number;
}

const commandStarted = (): Promise<void> =>
  vi.waitFor(
    async () => {
      const started = "select 1 from actions where tool = 'run_command' and state = 'started'";
      expect(await place.countersign.store?.sql(started)).toHaveLength(1);
    },
    { timeout: 120_000, interval: 100 },
  );

it("renews its lease while it works, and stops a command that runs as soon as it is told to", async () => {
  await place.addRepository("long", await writeTinyRepository(join(place.countersign.folder, "long"), unverified));
  const number = await ask("long");
  await commandStarted();

  const [before] = await rows();
  await vi.waitFor(
    async () => expect((await rows())[0]?.["lease_expires_at"]).not.toEqual(before?.["lease_expires_at"]),
    { timeout: 20_000, interval: 100 },
  );
  place.github.comment({ repository: "acme/long", number }, "/countersign stop", "alice");
  await service.ended(1);

  expect(await rows()).toMatchObject([{ status: "completed", conclusion: "cancelled", attempt: 0 }]);
  expect(place.github.read.comments({ repository: "acme/long", number })[0]?.["body"]).toContain(
    "cancelled by alice through the command `/countersign stop`",
  );
});

/** All comments but those of people. */
const ownComments = (repository: string, number: number): readonly string[] =>
  place.github.read
    .comments({ repository, number })
    .map(({ body }) => String(body))
    .filter((body) => body.includes("<!-- countersign:"));

/** A run that works on its command while the test goes on. */
async function workIn(name: string): Promise<number> {
  await place.addRepository(name, await writeTinyRepository(join(place.countersign.folder, name), unverified));
  const number = await ask(name);
  await commandStarted();
  return number;
}

const rowOf = async (repository: string, number: number) =>
  (await rows()).find((row) => row["repository_name"] === repository && row["issue_number"] === number);

const comesToBe = (repository: string, number: number, expected: Readonly<Record<string, unknown>>): Promise<void> =>
  vi.waitFor(async () => expect(await rowOf(repository, number)).toMatchObject(expected), {
    timeout: 60_000,
    interval: 100,
  });

it("tells of a run that waits for another one, and ends it at once where it is stopped", async () => {
  const first = await workIn("busy");
  const second = await ask("busy");
  const comments = () => ownComments("acme/busy", second);
  await vi.waitFor(() => expect(comments()).toHaveLength(1), { timeout: 60_000, interval: 100 });
  const [told] = comments();
  const { run_id: firstRun } = (await rowOf("acme/busy", first)) ?? {};

  place.github.comment({ repository: "acme/busy", number: second }, "/countersign stop", "alice");
  await comesToBe("acme/busy", second, { status: "completed", conclusion: "cancelled", attempt: 0 });

  expect(told).toContain(`waiting for run \`${String(firstRun)}\` in this repository to end`);
  expect(comments()).toHaveLength(1);
  expect(comments()[0]).toContain("cancelled by alice through the command `/countersign stop`");
  expect(await rowOf("acme/busy", first)).toMatchObject({ status: "in_progress" });
  place.github.comment({ repository: "acme/busy", number: first }, "/countersign stop", "alice");
  await comesToBe("acme/busy", first, { status: "completed" });
  expect(service.troubles).toEqual([]);
});

it("goes on with a run that had to wait, in its one comment", async () => {
  const first = await workIn("line");
  const second = await ask("line");
  const comments = () => ownComments("acme/line", second);
  await vi.waitFor(() => expect(comments()).toHaveLength(1), { timeout: 60_000, interval: 100 });

  place.github.comment({ repository: "acme/line", number: first }, "/countersign stop", "alice");
  await comesToBe("acme/line", second, { status: "in_progress" });
  await commandStarted();
  place.github.comment({ repository: "acme/line", number: second }, "/countersign stop", "alice");
  await comesToBe("acme/line", second, { status: "completed", conclusion: "cancelled", attempt: 0 });

  expect(comments()).toHaveLength(1);
  expect(service.troubles).toEqual([]);
});

it("works for another installation while one has as many runs as it may have, and tells a third that no place is left", async () => {
  const never = new AbortController().signal;
  const first = await workIn("greedy");
  await place.addRepository("more", await writeTinyRepository(join(place.countersign.folder, "more"), unverified));
  const waiting = await ask("more");
  const askIn = async (owner: string) => {
    place.github.createAccount(owner, "Organization");
    const folder = await writeTinyRepository(join(place.countersign.folder, owner), unverified);
    await place.github.createRepository({ owner, name: "elsewhere", source: { kind: "git", folder } }, never);
    const repository = `${owner}/elsewhere`;
    place.github.addCollaborator(repository, "alice", "write");
    const number = await place.github.openIssue(repository, { title: "A note", body: "Write it", by: "alice" });
    await place.github.label({ repository, number }, "countersign", "alice");
    return { repository, number };
  };

  const target = await askIn("other");
  await comesToBe(target.repository, target.number, { status: "in_progress" });

  const third = await askIn("third"); // the process has two places: as many as it has user ids, where those are few (SEC-42)
  const told = () => ownComments(third.repository, third.number);
  await vi.waitFor(() => expect(told()).toHaveLength(1), { timeout: 60_000, interval: 100 });

  expect(told()[0]).toContain("all places for runs are taken");
  expect(await rowOf("acme/greedy", first)).toMatchObject({ status: "in_progress" });
  expect(await rowOf("acme/more", waiting)).toMatchObject({ status: "queued" });
  for (const [repository, number] of [
    [third.repository, third.number],
    ["acme/more", waiting],
    ["acme/greedy", first],
    [target.repository, target.number],
  ] as const) {
    place.github.comment({ repository, number }, "/countersign stop", "alice");
    await comesToBe(repository, number, { status: "completed", conclusion: "cancelled" });
  }
});
