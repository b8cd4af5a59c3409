import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type GithubPlace, openGithubPlace } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };
const manifest = '{ "name": "tiny" }\n';
/** The second call of the turn builds on what was read before it, and stands behind the one that waits. */
const moves = [
  call("read_file", { path: "value.txt" }),
  {
    kind: "calls",
    calls: [
      call("create_file", { path: "package.json", content: manifest }),
      call("edit_file", { path: "value.txt", edits: [{ anchor: "one", replacement: "two" }] }),
    ],
  },
  finish,
] as const;

let place: GithubPlace;
let closeModel: () => Promise<void>;
let said = "";

beforeAll(async () => {
  const model = await startPlannedModel(moves, (_number, words) => void (said = words));
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

type Row = Readonly<Record<string, unknown>>;
const sql = async (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
  (await place.countersign.store?.sql<Row>(text, [...values])) ?? [];
const runOf = async (repository: string): Promise<Row> =>
  (await sql("select * from runs where repository_name = $1", [repository]))[0] ?? {};
const commentsOf = (repository: string): readonly string[] =>
  place.github.read.comments({ repository, number: 1 }).map(({ body }) => String(body));
const statesOf = (repository: string, tool: string): Promise<readonly Row[]> =>
  sql(
    `select a.state from actions a join runs r using (run_id) where r.repository_name = $1 and a.tool = $2
      order by a.first_index`,
    [repository, tool],
  );
const questionsIn = (repository: string): readonly string[] =>
  commentsOf(repository).filter((body) => body.includes("asks for a person's yes"));

async function addRepository(name: string): Promise<string> {
  const files = await writeTinyRepository(join(place.countersign.folder, `files-${name}`), unverified);
  await place.addRepository(name, files);
  await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
  return `acme/${name}`;
}

const begin = (repository: string) => place.github.label({ repository, number: 1 }, "countersign", "alice");

/** Resolves with the approval's id once the run waits. */
const waits = async (repository: string): Promise<string> => {
  await vi.waitFor(async () => expect(await runOf(repository)).toMatchObject({ status: "waiting" }), {
    timeout: 240_000,
    interval: 100,
  });
  const [row] = await sql("select approval_id from approvals where run_id = $1 order by action_id desc", [
    (await runOf(repository))["run_id"],
  ]);
  return String(row?.["approval_id"]);
};

const say = (repository: string, text: string, by = "alice") =>
  place.github.comment({ repository, number: 1 }, text, by);

describe("a dangerous edit in a run from GitHub (AUD-34, AUD-36, AUD-66, GH-42, GH-54)", () => {
  it("is asked about, approved by a comment, done once and published; while it waits nothing is held", async () => {
    await using service = await place.serve();
    const repository = await addRepository("approved");
    await begin(repository);
    const id = await waits(repository);

    expect(await runOf(repository)).toMatchObject({ lease_owner: null, attempt: 0, conclusion: null });
    const [status, question] = commentsOf(repository);
    expect(status).toContain("waits for a person's answer");
    expect(status).toContain(`/countersign approve ${id}`);
    for (const words of [
      "to create the file `package.json`",
      '+{ "name": "tiny" }',
      "`manifest`",
      `/countersign deny ${id}`,
    ])
      expect(question).toContain(words);
    expect(await statesOf(repository, "edit_file")).toEqual([]); // what comes after may build on it

    say(repository, `/countersign approve ${id}`);
    await service.ended();

    expect(await runOf(repository)).toMatchObject({ status: "completed", conclusion: "neutral", attempt: 0 });
    expect(await statesOf(repository, "create_file")).toEqual([{ state: "succeeded" }]);
    expect(await statesOf(repository, "edit_file")).toEqual([{ state: "succeeded" }]);
    expect(await statesOf(repository, "read_file")).toEqual([{ state: "succeeded" }]); // told again, not made again
    const [pull] = await place.github.read.pulls(repository);
    expect(pull).toMatchObject({ draft: true });
    expect(String(pull?.["body"])).toContain("package.json");
    expect(questionsIn(repository)).toHaveLength(1);
    expect(await sql("select approval_id from approval_uses where approval_id = $1", [id])).toHaveLength(1);
    expect(service.troubles).toEqual([]);
  });

  it("is refused with a reason that the model is told, and the rest is published", async () => {
    await using service = await place.serve();
    const repository = await addRepository("denied");
    await begin(repository);
    const id = await waits(repository);

    say(repository, `/countersign deny ${id} keep the old manifest`);
    await service.ended();

    expect(said).toContain("keep the old manifest");
    expect(await statesOf(repository, "create_file")).toEqual([{ state: "approval_refused" }]);
    const [pull] = await place.github.read.pulls(repository);
    expect(String(pull?.["body"])).toContain("value.txt");
    expect(await runOf(repository)).toMatchObject({ conclusion: "neutral", attempt: 0 });
    expect(service.troubles).toEqual([]);
  });

  it("a question whose worker was killed is put once, and its answer has one effect (AUD-6, GH-35)", async () => {
    const first = await place.serveApart();
    const repository = await addRepository("killed");
    const asked = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
    let number = 0;
    const isQuestion = ({ route, path }: { readonly route: string; readonly path: string }): boolean =>
      route === asked && path.includes("/issues/1/comments") && (number += 1) === 2;
    const hanging = place.github.fault({ route: isQuestion, fault: { kind: "hang", when: "after" } });
    await begin(repository);
    await hanging.met;
    await first.kill("SIGKILL");
    const second = await place.serveApart();
    const id = await waits(repository);

    say(repository, `/countersign approve ${id}`);
    say(repository, `/countersign approve ${id}`);
    await second.told("ended ");

    expect(questionsIn(repository)).toHaveLength(1);
    expect(await statesOf(repository, "create_file")).toEqual([{ state: "succeeded" }]);
    expect(await runOf(repository)).toMatchObject({ status: "completed", conclusion: "neutral", attempt: 1 });
    await vi.waitFor(() => expect(commentsOf(repository).join("\n")).toContain("that approval was answered before"), {
      timeout: 120_000,
      interval: 100,
    });
    await second.kill("SIGTERM");
  });

  it("a run that waits is stopped at once, and its question is closed (GH-52)", async () => {
    await using service = await place.serve();
    const repository = await addRepository("stopped");
    await begin(repository);
    const id = await waits(repository);

    say(repository, "/countersign stop");
    await service.ended();
    say(repository, `/countersign approve ${id}`);

    await vi.waitFor(() => expect(commentsOf(repository).join("\n")).toContain("is no longer wanted"), {
      timeout: 120_000,
      interval: 100,
    });
    expect(await statesOf(repository, "create_file")).toEqual([{ state: "cancelled" }]);
    expect(await runOf(repository)).toMatchObject({ conclusion: "cancelled", attempt: 0 });
    expect(await place.github.read.pulls(repository)).toEqual([]);
  });
});

it("leaves a ledger that verifies", async () => {
  const verified = readJson(Verified, await place.countersign.command(["audit", "verify", "--json"]));

  expect(verified).toMatchObject({ ok: true, findings: [] });
});
