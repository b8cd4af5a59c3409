import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type GithubPlace, openGithubPlace, type RunningService } from "../support/github-service.ts";
import { AuditedRun, readJson, Verified } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let place: GithubPlace;
let service: RunningService;
let issue: number;
let runId: string;
const repository = "acme/hours";

beforeAll(async () => {
  place = await openGithubPlace();
  const body = await place.addSample("hours");
  service = await place.serve();
  issue = await place.github.openIssue(repository, { title: "Wrong on Sundays", body, by: "alice" });
  await place.github.label({ repository, number: issue }, "countersign", "alice");
  await service.ended();
  await place.github.settled();
  [runId = ""] = service.events.flatMap((event) => (event.kind === "ended" ? [event.runId] : []));
});

afterAll(() => place[Symbol.asyncDispose]());

type Pull = {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
  readonly head: { readonly ref: string; readonly sha: string };
};
const onlyPull = async (): Promise<Pull> => {
  const pulls = await place.github.read.pulls(repository);
  expect(pulls).toHaveLength(1);
  return pulls[0] as unknown as Pull;
};
const statusComments = (): readonly string[] =>
  place.github.read.comments({ repository, number: issue }).map(({ body }) => String(body));

describe("a label on an issue", () => {
  it("leads to one pull request that is ready, on a branch of the run's own", async () => {
    const pull = await onlyPull();

    expect(pull).toMatchObject({ draft: false, head: { ref: `countersign/issue-${issue}-${runId.slice(-8)}` } });
    expect(service.troubles).toEqual([]);
  });

  it("gives a head that plain git fetches and whose tests pass", async () => {
    const { head } = await onlyPull();
    const folder = join(place.countersign.folder, "by-hand");
    const [ref] = await place.github.read.refs(repository, `refs/heads/${head.ref}`);
    const git = (...argv: readonly string[]): string =>
      execFileSync("git", argv, {
        cwd: place.countersign.folder,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    git("clone", "--quiet", "--branch", head.ref, place.gitFolder(repository), folder);

    expect(ref?.sha).toBe(head.sha);
    expect(git("-C", folder, "rev-parse", "HEAD").trim()).toBe(head.sha);
    expect(() => execFileSync(process.execPath, ["--test"], { cwd: folder, stdio: "ignore" })).not.toThrow();
  });

  it("writes the trailers that lead back to the run, and no keyword that closes the issue", async () => {
    const { head, body } = await onlyPull();
    const message = execFileSync("git", ["-C", place.gitFolder(repository), "log", "-1", "--format=%B", head.sha], {
      encoding: "utf8",
    });

    expect(message).toContain(`\nCountersign-Run: ${runId}\n`);
    expect(message).toMatch(/\nCountersign-Trace: [0-9a-f]{32}\n/);
    expect(body).toContain(`\nRefs #${issue}\n`);
    expect(`${message}${body}`).not.toMatch(/\b(close[sd]?|fix(e[sd])?|resolve[sd]?) #\d/i);
  });

  it("says in the pull request what was asked, tested, refused and why, and where the record is", async () => {
    const { body } = await onlyPull();

    expect(body).toMatch(/^\*\*Verified\*\*: /);
    expect(body).toMatch(/Asked for by `alice` \(id `\d+`\)/);
    expect(body).toMatch(/\| before \| 1 \| \d+ \| 1 \|/);
    expect(body).toMatch(/\| after \| 0 \| \d+ \| 0 \|/);
    expect(body).toContain("`create_file` of `.github/workflows/tests.yml`: denied by `floor:github_workflows`");
    expect(body).toMatch(/Ledger `countersign\/[0-9a-f]{32}`: \d+ entries, root `[A-Za-z0-9+/]{43}=`/);
    expect(body).toContain(`countersign audit show ${runId}`);
    expect(body).toContain("### The model's summary\n\nWritten by the model and checked by nobody:\n\n```\n");
  });

  it("shows one status comment that ends with the conclusion, the reaction, and a check on our commit alone", async () => {
    const { number, head } = await onlyPull();
    const [comment = "", ...more] = statusComments();

    expect(more).toEqual([]);
    expect(comment).toMatch(/^\*\*Countersign\*\* is done: /);
    expect(comment).toContain(`- opened: #${number}\n`);
    expect(comment).toContain("- conclusion: `success`");
    expect(place.github.read.reactions(repository)).toMatchObject([{ content: "eyes" }]);
    expect(place.github.read.checkRuns(repository)).toMatchObject([
      { name: "Countersign", head_sha: head.sha, external_id: runId, conclusion: "success" },
    ]);
  });
});

describe("the record of such a run", () => {
  it("has each write to GitHub as an action of the system, and verifies", async () => {
    const shown = readJson(AuditedRun, await place.countersign.inProcess(["audit", "show", runId, "--json"]));
    const verified = readJson(Verified, await place.countersign.inProcess(["audit", "verify", "--json"]));
    const writes = shown.actions.filter(({ event }) => event.actor === "system" && event.action !== "run_verification");

    expect(new Set(writes.map(({ event }) => event.action))).toEqual(
      new Set([
        "add_reaction",
        "create_comment",
        "update_comment",
        "push_commit",
        "set_check_run",
        "open_pull_request",
      ]),
    );
    expect(writes.map(({ event }) => event.outcome)).toEqual(writes.map(() => "ok"));
    expect(verified).toMatchObject({ ok: true, findings: [] });
  });

  it("keeps the pull request with the run, and the patch", async () => {
    const { number, head } = await onlyPull();
    const row = await place.countersign.store?.sql("select * from runs where run_id = $1", [runId]);
    const patch = await place.countersign.inProcess(["runs", "patch", runId]);

    expect(row).toMatchObject([
      { status: "completed", conclusion: "success", pull_request_number: number, head_sha: head.sha, attempt: 0 },
    ]);
    expect(patch.stdout).toContain("src/hours.js");
  });
});
