import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Fault } from "../../src/demo/index.ts";
import { type GithubPlace, openGithubPlace, type RunningService } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

type Answer = 401 | 404 | 422 | 500 | "reset" | "hang";
/** Every answer to the two writes after which something stands for others to see; to each other call those that differ. */
const answersTo = (name: string, route: string): readonly Answer[] => {
  if (name === "ref" || name === "pull") return [401, 404, 422, 500, "reset", "hang"];
  return route.startsWith("GET") ? [404, 500] : [422, "hang"];
};

/** The calls of a run, by what the local GitHub logs; `nth` leaves out those that are made before the run. */
const calls = [
  { name: "repository", route: "GET /repos/{owner}/{repo}" },
  { name: "base", route: "GET /repos/{owner}/{repo}/git/ref/{ref}" },
  { name: "reaction", route: "POST /repos/{owner}/{repo}/issues/{issue_number}/reactions" },
  { name: "comment", route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments" },
  { name: "edit", route: "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}" },
  { name: "issue", route: "GET /repos/{owner}/{repo}/issues/{issue_number}" },
  { name: "permission", route: "GET /repos/{owner}/{repo}/collaborators/{username}/permission", nth: 2 },
  { name: "blob", route: "POST /repos/{owner}/{repo}/git/blobs" },
  { name: "tree", route: "POST /repos/{owner}/{repo}/git/trees" },
  { name: "commit", route: "POST /repos/{owner}/{repo}/git/commits" },
  { name: "ref", route: "POST /repos/{owner}/{repo}/git/refs" },
  { name: "check", route: "POST /repos/{owner}/{repo}/check-runs" },
  { name: "pull", route: "POST /repos/{owner}/{repo}/pulls" },
] as const;

const cases = calls.flatMap((called) =>
  answersTo(called.name, called.route).map((answer) => ({ ...called, answer, repository: `${called.name}-${answer}` })),
);

const faultOf = (answer: Answer): Fault => {
  if (answer === "reset" || answer === "hang") return { kind: answer, when: "before" };
  return { kind: "answer", when: "before", status: answer, body: { message: "not this time" } };
};

/** Without these a run has no pull request. */
const needed: ReadonlySet<string> = new Set([
  "repository",
  "base",
  "issue",
  "permission",
  "blob",
  "tree",
  "commit",
  "ref",
  "pull",
]);
/** Before these nothing was worked on. */
const early: ReadonlySet<string> = new Set(["repository", "base"]);

let place: GithubPlace;
let service: RunningService;
let closeModel: () => Promise<void>;

/** All of them in one service: in each repository one call of the run fails, always. */
beforeAll(async () => {
  const model = await startPlannedModel([call("create_file", { path: "note.txt", content: "hello\n" }), finish]);
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  service = await place.serve({
    policiesFolder: place.policiesFor(6),
    pace: { writeIntervalMs: 0, lookIntervalMs: 1, requestTimeoutMs: 4_000, stopPollMs: 1_000 },
  });
  const settings = { ".github/countersign.yml": "version: 1\nverify: none\n" };
  const files = await writeTinyRepository(join(place.countersign.folder, "files"), settings);
  for (const { repository, route, answer, ...one } of cases) {
    const id = await place.addRepository(repository, files);
    const isOurs = ({ path, route: asked }: { readonly path: string; readonly route: string }): boolean =>
      asked === route && path.includes(`/repositories/${id}`);
    const nth = "nth" in one ? one.nth : 1;
    place.github.fault({ route: isOurs, nth, times: 1_000, fault: faultOf(answer) });
    await place.github.openIssue(`acme/${repository}`, { title: "A note", body: "Write a note", by: "alice" });
    await place.github.label({ repository: `acme/${repository}`, number: 1 }, "countersign", "alice");
  }
  await service.ended(cases.length);
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

type Row = {
  readonly run_id: string;
  readonly status: string;
  readonly conclusion: string;
  readonly branch: string | null;
};
const rowOf = async (repository: string): Promise<Row> => {
  const rows = await place.countersign.store?.sql<Row>("select * from runs where repository_name like $1", [
    `%${repository}`,
  ]);
  expect(rows).toHaveLength(1);
  return rows?.[0] as Row;
};

/** What the last edit must say, unless it is the very call that fails. */
function toldTexts(name: string, { run_id, conclusion }: Row): readonly string[] {
  if (name === "comment" || name === "edit") return [];
  const told = [`- conclusion: \`${conclusion}\``];
  if (!needed.has(name)) return told;
  return early.has(name)
    ? [...told, "- what to do: "]
    : [...told, "- what to do: ", `countersign runs patch ${run_id}`];
}

describe.each(cases)("GitHub answering $answer to $route", ({ name, repository }) => {
  it("ends the run once, with at most one comment, branch and pull request", async () => {
    const row = await rowOf(repository);
    const pulls = await place.github.read.pulls(`acme/${repository}`);
    const branches = await place.github.read.refs(`acme/${repository}`, "refs/heads/countersign/");
    const comments = place.github.read.comments({ repository: `acme/${repository}`, number: 1 });

    expect(row.status).toBe("completed");
    expect(row.conclusion).toMatch(/^(neutral|failure|action_required|cancelled)$/);
    expect(pulls).toHaveLength(needed.has(name) ? 0 : 1);
    expect(branches.length).toBeLessThanOrEqual(1);
    expect(comments).toHaveLength(name === "comment" ? 0 : 1);
  });

  it("says why where it can, and keeps the patch", async () => {
    const row = await rowOf(repository);
    const [comment] = place.github.read.comments({ repository: `acme/${repository}`, number: 1 });
    const body = String(comment?.["body"] ?? "");
    const summary = await place.countersign.store?.sql<{ count: number }>(
      "select count(*)::int as count from sealed where run_id = $1 and field = 'patch'",
      [row.run_id],
    );

    for (const text of toldTexts(name, row)) expect(body).toContain(text);
    expect(summary).toEqual([{ count: 1 }]);
  });
});

it("has no trouble beside, and a ledger that verifies", async () => {
  const verified = readJson(Verified, await place.countersign.inProcess(["audit", "verify", "--json"]));

  expect(service.troubles).toEqual([]);
  expect(verified).toMatchObject({ ok: true, findings: [] });
});
