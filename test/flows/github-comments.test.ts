import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { RunId } from "../../src/domain/index.ts";
import { type GithubPlace, openGithubPlace } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const made = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
const listed = "GET /repos/{owner}/{repo}/issues/{issue_number}/comments";
const opened = "POST /repos/{owner}/{repo}/pulls";
const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };
const quick = {
  writeIntervalMs: 0,
  lookIntervalMs: 1,
  requestTimeoutMs: 600_000,
  stopPollMs: 200,
  lookPausesMs: [10, 10],
};

let place: GithubPlace;
let closeModel: () => Promise<void>;

beforeAll(async () => {
  const model = await startPlannedModel([call("create_file", { path: "note.txt", content: "hello\n" }), finish]);
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

/** A repository with an issue; its comments can't be listed until `isOver` says so of a request. */
async function addRepository(name: string, isOver: (route: string) => boolean = () => false) {
  const files = await writeTinyRepository(join(place.countersign.folder, `files-${name}`), unverified);
  const id = await place.addRepository(name, files);
  let isBroken = true;
  const route = (asked: string) => (request: { readonly path: string; readonly route: string }) => {
    if (!request.path.includes(`/repositories/${id}`)) return false;
    if (isOver(request.route)) isBroken = false;
    return request.route === asked && (asked !== listed || isBroken);
  };
  place.github.fault({ route: route(listed), times: 10_000, fault: { kind: "answer", when: "before", status: 500 } });
  await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
  return { repository: `acme/${name}`, made: route(made) };
}

const lost = { kind: "answer", when: "after", status: 502 } as const;
const commentsOf = (repository: string) =>
  place.github.read.comments({ repository, number: 1 }).map(({ body }) => String(body));
const actionsOf = (runId: string) =>
  place.countersign.store?.sql<{ readonly state: string }>(
    "select state from actions where run_id = $1 and tool = 'create_comment'",
    [runId],
  );
const runOf = async (repository: string): Promise<{ readonly run_id: RunId; readonly conclusion: string }> => {
  const [row] =
    (await place.countersign.store?.sql("select * from runs where repository_name = $1", [repository])) ?? [];
  return row as never;
};

describe("a comment that GitHub made but did not answer for", () => {
  it("is the only one where it can't be looked for", async () => {
    await using service = await place.serve({ pace: quick });
    const { repository, ...routes } = await addRepository("unseen");
    place.github.fault({ route: routes.made, fault: lost });
    await place.github.label({ repository, number: 1 }, "countersign", "alice");
    await service.ended();

    const { run_id: runId } = await runOf(repository);
    expect(commentsOf(repository)).toHaveLength(1);
    expect(await actionsOf(runId)).toEqual([{ state: "reconcile_inconclusive" }]);
  });

  it("gets the last edit once it is found", async () => {
    await using service = await place.serve({ pace: quick });
    const { repository, ...routes } = await addRepository("found", (route) => route === opened);
    place.github.fault({ route: routes.made, fault: lost });
    await place.github.label({ repository, number: 1 }, "countersign", "alice");
    await service.ended();

    const { run_id: runId } = await runOf(repository);
    expect(commentsOf(repository)).toEqual([expect.stringContaining("- conclusion: `neutral`")]);
    expect(await actionsOf(runId)).toEqual([{ state: "reconciled_applied" }]);
  });

  it("stays the only one after a restart", async () => {
    const first = await place.serveApart({ pace: quick });
    const { repository, ...routes } = await addRepository("restarted");
    const hanging = place.github.fault({ route: routes.made, fault: { kind: "hang", when: "after" } });
    await place.github.label({ repository, number: 1 }, "countersign", "alice");
    await hanging.met;
    await first.kill("SIGKILL");
    await using second = await place.serveApart({ pace: quick });
    await second.told("ended ");

    const { run_id: runId } = await runOf(repository);
    expect(commentsOf(repository)).toHaveLength(1);
    expect(await actionsOf(runId)).toEqual([{ state: "reconcile_inconclusive" }]);
  });

  it("is the only answer to a command whose job comes again", async () => {
    await using service = await place.serve({ pace: quick });
    const { repository, ...routes } = await addRepository("answered");
    place.github.fault({ route: routes.made, fault: lost });
    place.github.comment({ repository, number: 1 }, "/countersign help", "alice");
    await place.github.settled();
    const { store } = place.countersign;
    const row = await store?.db
      .selectFrom("deliveries")
      .selectAll()
      .where("answer", "=", "comment")
      .executeTakeFirstOrThrow();
    const deliveryId = String(row?.delivery_id);
    const jobsDone = async () =>
      await place.countersign.store?.sql("select id from pgboss.job where name = 'answer' and state = 'completed'");
    await expect.poll(jobsDone, { timeout: 120_000 }).toHaveLength(1);
    const queue = await store?.queue();
    await store?.transaction(async (tx) => await queue?.enqueue(tx, "answer", { deliveryId }));
    await expect.poll(jobsDone, { timeout: 120_000 }).toHaveLength(2);

    expect(commentsOf(repository)).toHaveLength(2); // the command and its answer
    expect(await actionsOf(deliveryId)).toEqual([{ state: "reconcile_inconclusive" }]);
    expect(service.troubles).toEqual([]);
  });
});

it("makes one new comment at the end in the place of one that a person deleted", async () => {
  await using service = await place.serve({ pace: quick });
  const repository = "acme/deleted";
  await addRepository("deleted", (route) => {
    const [comment] = place.github.read.comments({ repository, number: 1 });
    if (route === opened && comment !== undefined)
      place.github.deleteComment(repository, Number(comment["id"]), "alice");
    return true;
  });
  await place.github.label({ repository, number: 1 }, "countersign", "alice");
  await service.ended();

  const { run_id: runId } = await runOf(repository);
  expect(commentsOf(repository)).toEqual([expect.stringContaining("- conclusion: `neutral`")]);
  expect(await actionsOf(runId)).toEqual([{ state: "succeeded" }, { state: "succeeded" }]);
});
