import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openGithubPlace } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000 });

it("gives a run back where the service is stopped, and goes on with it at the next start, without an attempt", async () => {
  const asked = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const moves = [call("create_file", { path: "note.txt", content: "hello\n" }), finish];
  await using model = await startPlannedModel(moves, async (number) => {
    if (number === 1) asked.resolve();
    if (number === 1) await stopped.promise;
  });
  await using place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const files = { ".github/countersign.yml": "version: 1\nverify: none\n" };
  await place.addRepository("given", await writeTinyRepository(join(place.countersign.folder, "files"), files));
  const first = await place.serveApart();
  await place.github.openIssue("acme/given", { title: "A note", body: "Write a note", by: "alice" });
  await place.github.label({ repository: "acme/given", number: 1 }, "countersign", "alice");
  await asked.promise;

  await first.kill("SIGTERM");
  const given = await place.countersign.store?.sql("select status, attempt, lease_owner from runs");
  stopped.resolve();
  const second = await place.serveApart();
  await second.told("ended ");

  expect(given).toEqual([{ status: "queued", attempt: 0, lease_owner: null }]);
  expect(await place.countersign.store?.sql("select status, attempt, conclusion from runs")).toEqual([
    { status: "completed", attempt: 0, conclusion: "neutral" },
  ]);
  expect(await place.github.read.pulls("acme/given")).toHaveLength(1);
  expect(place.github.read.comments({ repository: "acme/given", number: 1 })).toHaveLength(1);
});
