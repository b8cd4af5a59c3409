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
const said: string[] = [];
/** Approvals by the name of the repository. */
const ids = new Map<string, string>();

type Row = Readonly<Record<string, unknown>>;
const sql = async (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
  (await place.countersign.store?.sql<Row>(text, [...values])) ?? [];
const runOf = async (name: string): Promise<Row> =>
  (await sql("select * from runs where repository_name = $1", [`acme/${name}`]))[0] ?? {};
const commentsOf = (name: string): readonly string[] =>
  place.github.read.comments({ repository: `acme/${name}`, number: 1 }).map(({ body }) => String(body));
const answeredIn = (name: string): readonly string[] =>
  commentsOf(name).filter((body) => body.includes("asked for a person's yes"));
const questionsIn = (name: string): readonly string[] =>
  commentsOf(name).filter((body) => body.includes("asks for a person's yes"));
const statesOf = async (name: string, tool: string): Promise<readonly unknown[]> =>
  (
    await sql(
      `select a.state from actions a join runs r using (run_id) where r.repository_name = $1 and a.tool = $2
        order by a.first_index`,
      [`acme/${name}`, tool],
    )
  ).map(({ state }) => state);
const say = (name: string, text: string) =>
  place.github.comment({ repository: `acme/${name}`, number: 1 }, text, "alice");
const patient = { timeout: 240_000, interval: 100 };

/** Resolves with the approval's id once the run waits. */
async function waits(name: string): Promise<string> {
  await vi.waitFor(async () => expect(await runOf(name)).toMatchObject({ status: "waiting" }), patient);
  const [row] = await sql("select approval_id from approvals where run_id = $1", [(await runOf(name))["run_id"]]);
  return String(row?.["approval_id"]);
}

async function begin(name: string, settings: Readonly<Record<string, string>> = unverified): Promise<number> {
  const files = await writeTinyRepository(join(place.countersign.folder, `files-${name}`), settings);
  const id = await place.addRepository(name, files);
  await place.github.openIssue(`acme/${name}`, { title: "A note", body: "Write a note", by: "alice" });
  return id;
}

const label = (name: string) => place.github.label({ repository: `acme/${name}`, number: 1 }, "countersign", "alice");
const names = ["approved", "denied", "stopped", "killed"] as const;

/** All at once: one service is killed while three runs wait and the fourth is about to; another one takes the answers. */
beforeAll(async () => {
  const model = await startPlannedModel(moves, (_number, words) => void said.push(words));
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const changes = { policiesFolder: place.policiesFor(names.length) };
  const pace = { writeIntervalMs: 0, lookIntervalMs: 10, requestTimeoutMs: 600_000, stopPollMs: 50 };
  const first = await place.serveApart({ ...changes, pace });
  let hanging: ReturnType<typeof place.github.fault> | null = null;
  for (const name of names) {
    const id = await begin(name);
    if (name === "killed")
      hanging = place.github.fault({ route: secondComment(id), fault: { kind: "hang", when: "after" } });
    await label(name);
  }
  for (const name of names.slice(0, -1)) ids.set(name, await waits(name));
  await hanging?.met;
  await first.kill("SIGKILL");
  await place.serveApart(changes);
  ids.set("killed", await waits("killed"));
});

/** The first is the status comment, the second the question. */
function secondComment(repositoryId: number) {
  let count = 0;
  return ({ route, path }: { readonly route: string; readonly path: string }): boolean => {
    const isOurs =
      route === "POST /repos/{owner}/{repo}/issues/{issue_number}/comments" &&
      path.includes(`/repositories/${repositoryId}/`);
    if (isOurs) count += 1;
    return isOurs && count === 2;
  };
}

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

const ended = (name: string): Promise<void> =>
  vi.waitFor(async () => expect(await runOf(name)).toMatchObject({ status: "completed" }), patient);

describe("a dangerous edit in a run from GitHub (AUD-34, AUD-36, AUD-66, GH-42, GH-54)", () => {
  it("is asked about by a comment of its own, and while the run waits nothing is held", async () => {
    const id = ids.get("approved");
    const [status, question] = commentsOf("approved");

    expect(await runOf("approved")).toMatchObject({ lease_owner: null, attempt: 0, conclusion: null });
    expect(status).toContain("waits for a person's answer");
    expect(status).toContain(`/countersign approve ${id}`);
    for (const words of [
      "create the file `package.json`",
      '+{ "name": "tiny" }',
      "`manifest`",
      `/countersign deny ${id}`,
    ]) {
      expect(question).toContain(words);
    }
    expect(await statesOf("approved", "edit_file")).toEqual([]); // what comes after may build on it
  });

  it("approved by a comment it is done once by another process, and published (AUD-21, AUD-6)", async () => {
    say("approved", `/countersign approve ${ids.get("approved")}`);
    await ended("approved");

    expect(await runOf("approved")).toMatchObject({ conclusion: "neutral", attempt: 0 });
    expect(await statesOf("approved", "create_file")).toEqual(["succeeded"]);
    expect(await statesOf("approved", "edit_file")).toEqual(["succeeded"]);
    expect(await statesOf("approved", "read_file")).toEqual(["succeeded"]); // told again, not made again
    const [pull] = await place.github.read.pulls("acme/approved");
    expect(String(pull?.["body"])).toContain("package.json");
    expect(questionsIn("approved")).toEqual([]); // each says by now who answered it
    expect(answeredIn("approved")).toEqual([expect.stringContaining("**Allowed** by `alice`")]);
    expect(await sql("select 1 from approval_uses where approval_id = $1", [ids.get("approved")])).toHaveLength(1);
  });

  it("refused, the model is told the reason, and the rest is published", async () => {
    say("denied", `/countersign deny ${ids.get("denied")} keep the old manifest`);
    await ended("denied");

    expect(said.some((words) => words.includes("keep the old manifest"))).toBe(true);
    expect(await statesOf("denied", "create_file")).toEqual(["approval_refused"]);
    expect(await statesOf("denied", "edit_file")).toEqual(["succeeded"]);
    const [pull] = await place.github.read.pulls("acme/denied");
    expect(String(pull?.["body"])).toContain("value.txt");
    expect(await runOf("denied")).toMatchObject({ conclusion: "neutral", attempt: 0 });
  });

  it("whose worker was killed at the question is asked about once and done once, answered twice (AUD-6, AUD-39, GH-35)", async () => {
    say("killed", `/countersign approve ${ids.get("killed")}`);
    say("killed", `/countersign approve ${ids.get("killed")}`);
    await ended("killed");

    expect([questionsIn("killed").length, answeredIn("killed").length]).toEqual([0, 1]);
    expect(await statesOf("killed", "create_file")).toEqual(["succeeded"]);
    expect(await runOf("killed")).toMatchObject({ conclusion: "neutral", attempt: 1 });
    await vi.waitFor(
      () => expect(commentsOf("killed").join("\n")).toContain("that approval was answered before"),
      patient,
    );
  });

  it("is dropped at once where the run is stopped, and a later yes is told so (GH-52, GH-11)", async () => {
    say("stopped", "/countersign stop");
    await ended("stopped");
    say("stopped", `/countersign approve ${ids.get("stopped")}`);

    await vi.waitFor(() => expect(commentsOf("stopped").join("\n")).toContain("is no longer wanted"), patient);
    expect(await statesOf("stopped", "create_file")).toEqual(["cancelled"]);
    expect(answeredIn("stopped")).toEqual([expect.stringContaining("**No longer asked**")]);
    expect(await runOf("stopped")).toMatchObject({ conclusion: "cancelled", attempt: 0 });
    expect(await place.github.read.pulls("acme/stopped")).toEqual([]);
  });
});

describe("a repository that wants a yes to the host's own commands and to each write of publishing (AUD-21, AUD-24, AUD-38)", () => {
  const tools = ["run_verification", "push_commit", "open_pull_request"];
  const forbid = `@id("by-approval") forbid (principal, action in [${tools.map((tool) => `Action::"${tool}"`).join(", ")}], resource) unless { context.approved };`;
  const settings = `version: 1\nverify: { run: "test -f value.txt" }\nforbid:\n  - '${forbid}'\n`;

  it("is asked about each once, in one run that waits in between, and then has its pull request", async () => {
    await begin("publishing", { ".github/countersign.yml": settings });
    await label("publishing");
    const asked: unknown[] = [];
    for (;;) {
      await vi.waitFor(
        async () => expect(["waiting", "completed"]).toContain((await runOf("publishing"))["status"]),
        patient,
      );
      const { run_id: runId, status } = await runOf("publishing");
      if (status === "completed") break;
      const [open] = await sql(
        `select approval_id, tool from approvals join actions a using (action_id)
          where approvals.run_id = $1 and a.state = 'approval_pending'`,
        [runId],
      );
      asked.push(open?.["tool"]);
      say("publishing", `/countersign approve ${String(open?.["approval_id"])}`);
      await vi.waitFor(
        async () =>
          expect(
            await sql("select 1 from approval_answers where approval_id = $1", [open?.["approval_id"]]),
          ).toHaveLength(1),
        patient,
      );
    }

    expect(asked).toEqual(["run_verification", "create_file", "run_verification", "push_commit", "open_pull_request"]);
    for (const tool of tools) expect(new Set(await statesOf("publishing", tool))).toEqual(new Set(["succeeded"]));
    expect(await place.github.read.pulls("acme/publishing")).toHaveLength(1);
    expect([questionsIn("publishing").length, answeredIn("publishing").length]).toEqual([0, asked.length]);
    expect(await runOf("publishing")).toMatchObject({ status: "completed", attempt: 0 });
  });
});

it("leaves a ledger that verifies", async () => {
  const verified = readJson(Verified, await place.countersign.command(["audit", "verify", "--json"]));

  expect(verified).toMatchObject({ ok: true, findings: [] });
});
