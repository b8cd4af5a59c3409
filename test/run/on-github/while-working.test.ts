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
