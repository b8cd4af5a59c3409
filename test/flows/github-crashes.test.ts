import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { PlannedFault } from "../../src/demo/index.ts";
import { type GithubPlace, openGithubPlace } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** Each write of a run, and whether GitHub had carried it out when the service was killed. */
const crashes = [
  { name: "reaction", route: "POST /repos/{owner}/{repo}/issues/{issue_number}/reactions", when: "after" },
  { name: "comment-lost", route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments", when: "after" },
  { name: "comment-unsent", route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments", when: "before" },
  { name: "blob", route: "POST /repos/{owner}/{repo}/git/blobs", when: "after" },
  { name: "ref-lost", route: "POST /repos/{owner}/{repo}/git/refs", when: "after" },
  { name: "ref-unsent", route: "POST /repos/{owner}/{repo}/git/refs", when: "before" },
  { name: "check", route: "POST /repos/{owner}/{repo}/check-runs", when: "after" },
  { name: "pull-lost", route: "POST /repos/{owner}/{repo}/pulls", when: "after" },
  { name: "pull-unsent", route: "POST /repos/{owner}/{repo}/pulls", when: "before" },
] as const;

/** Taken back while no service was there, after the commit had been pushed. */
const takenBack = [
  {
    name: "closed-since",
    route: "POST /repos/{owner}/{repo}/check-runs",
    when: "after",
    act: (target: Target) => place.github.close(target, "alice"),
    cause: "the issue was closed meanwhile",
  },
  {
    name: "unlabelled-since",
    route: "POST /repos/{owner}/{repo}/pulls",
    when: "before",
    act: (target: Target) => place.github.unlabel(target, "countersign", "alice"),
    cause: "the label was removed meanwhile",
  },
  {
    name: "demoted-since",
    route: "POST /repos/{owner}/{repo}/check-runs",
    when: "before",
    act: ({ repository }: Target) => place.github.addCollaborator(repository, "alice", "read"),
    cause: "who asked for the run may no longer write to the repository",
  },
] as const;
type Target = { readonly repository: string; readonly number: number };

/** What the tests say is not what is tried here. */
const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };

let place: GithubPlace;
let closeModel: () => Promise<void>;

/** All at once: one service with a run in each repository, killed when every run hangs at its own write. */
beforeAll(async () => {
  const model = await startPlannedModel([call("create_file", { path: "note.txt", content: "hello\n" }), finish]);
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const changes = { policiesFolder: place.policiesFor(crashes.length + takenBack.length) };
  // The first one waits for its answers until it is killed.
  const first = await place.serveApart({ ...changes, pace: { writeIntervalMs: 0, requestTimeoutMs: 600_000 } });
  const hanging: PlannedFault[] = [];
  for (const { name, route, when } of [...crashes, ...takenBack]) {
    const files = await writeTinyRepository(join(place.countersign.folder, `files-${name}`), unverified);
    const id = await place.addRepository(name, files);
    const isOurs = ({ path, route: asked }: { readonly path: string; readonly route: string }): boolean =>
      asked === route && path.includes(`/repositories/${id}/`);
    hanging.push(place.github.fault({ route: isOurs, fault: { kind: "hang", when } }));
    await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
    await place.github.label({ repository: `acme/${name}`, number: 1 }, "countersign", "alice");
  }
  await Promise.all(hanging.map(({ met }) => met));
  await first.kill("SIGKILL");
  for (const { name, act } of takenBack) await act({ repository: `acme/${name}`, number: 1 });
  const second = await place.serveApart(changes);
  await second.told("ended ", crashes.length + takenBack.length);
  expect(second.lines.filter((line) => line.startsWith("trouble "))).toEqual([]);
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

describe.each(crashes)("a service killed while GitHub was asked for $route ($when it was carried out)", ({ name }) => {
  const repository = `acme/${name}`;

  it("is taken over to one comment, one branch, one check and one pull request", async () => {
    const comments = place.github.read.comments({ repository, number: 1 });
    const branches = await place.github.read.refs(repository, "refs/heads/countersign/");
    const pulls = await place.github.read.pulls(repository);

    expect(comments.map(({ body }) => body)).toEqual([expect.stringContaining("- conclusion: `neutral`")]);
    expect(branches).toHaveLength(1);
    expect(pulls).toMatchObject([{ draft: true, head: { sha: branches[0]?.sha } }]);
    expect(place.github.read.checkRuns(repository)).toHaveLength(1);
    expect(place.github.read.reactions(repository)).toHaveLength(1);
  });

  it("counts as one attempt, and leaves no action open", async () => {
    const runs = await place.countersign.store?.sql(
      "select run_id, status, conclusion, attempt from runs where repository_name = $1",
      [repository],
    );
    const open = await place.countersign.store?.sql(
      `select tool, state from actions where run_id = $1 and state in
        ('started', 'unknown', 'reconciling', 'reconcile_inconclusive', 'proposed', 'authorized', 'intent_recorded')`,
      [runs?.[0] === undefined ? "" : (runs[0] as { run_id: string }).run_id],
    );

    expect(runs).toMatchObject([{ status: "completed", conclusion: "neutral", attempt: 1 }]);
    expect(open).toEqual([]);
  });
});

describe.each(takenBack)("what is taken back between push and pull request: $name (GH-51)", ({ name, cause }) => {
  const repository = `acme/${name}`;

  it("gets no pull request, its branch is deleted by an action of its own, and the comment says so", async () => {
    const comments = place.github.read.comments({ repository, number: 1 });
    const deleted = await place.countersign.store?.sql(
      "select state from actions a join runs r using (run_id) where r.repository_name = $1 and a.tool = 'delete_branch'",
      [repository],
    );

    expect(await place.github.read.pulls(repository)).toEqual([]);
    expect(await place.github.read.refs(repository, "refs/heads/countersign/")).toEqual([]);
    expect(deleted).toEqual([{ state: "succeeded" }]);
    expect(comments).toHaveLength(1);
    expect(comments[0]?.["body"]).toContain(cause);
    expect(comments[0]?.["body"]).toMatch(/the branch `?\S+countersign\/\S+ was deleted again/);
  });
});

it("leaves a ledger that verifies", async () => {
  const verified = readJson(Verified, await place.countersign.inProcess(["audit", "verify", "--json"]));

  expect(verified).toMatchObject({ ok: true, findings: [] });
});
