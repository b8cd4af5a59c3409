import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { anyRung, chooseRung } from "../../../src/workspace/index.ts";
import { aHome } from "../../support/checkout.ts";
import { openGithubPlace } from "../../support/github-service.ts";
import { call, finish, startPlannedModel } from "../../support/planned-model.ts";
import { writeTinyRepository } from "../../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000 });

/** Where a group counts the tasks of each run, one user id serves all (SEC-42). */
const needsIds = ((): boolean => {
  const home = aHome();
  try {
    return process.getuid?.() === 0 && chooseRung(home.deps, anyRung).name === "prlimit";
  } finally {
    home.dispose();
  }
})();

it.runIf(needsIds)("lets a run wait where there is no user id left for it", async () => {
  const moves = [call("create_file", { path: "note.txt", content: "hello\n" }), finish];
  const second = Promise.withResolvers<void>();
  await using model = await startPlannedModel(moves, (number) => (number === 0 ? second.promise : undefined));
  await using place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const service = await place.serve({ policiesFolder: place.policiesFor(2), runUids: "64299" });
  const files = { ".github/countersign.yml": "version: 1\nverify: none\n" };
  for (const name of ["one", "two"]) {
    await place.addRepository(name, await writeTinyRepository(join(place.countersign.folder, name), files));
    await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
    await place.github.label({ repository: `acme/${name}`, number: 1 }, "countersign", "alice");
  }
  const waiting = (): readonly string[] =>
    ["one", "two"]
      .flatMap((name) => place.github.read.comments({ repository: `acme/${name}`, number: 1 }))
      .map(({ body }) => String(body))
      .filter((body) => body.includes("all places for runs are taken"));

  await vi.waitFor(() => expect(waiting()).toHaveLength(1), { timeout: 60_000, interval: 100 });
  second.resolve();
  await service.ended(2);

  expect(await place.countersign.store?.sql("select status, conclusion from runs")).toEqual([
    { status: "completed", conclusion: "neutral" },
    { status: "completed", conclusion: "neutral" },
  ]);
  expect(service.troubles).toEqual([]);
});
