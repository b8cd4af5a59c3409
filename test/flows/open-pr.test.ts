import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Ended, Environment, Running } from "../support/countersign.ts";
import { type GithubPlace, openGithubPlace } from "../support/github-service.ts";
import { onTerminal } from "../support/on-terminal.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { AuditedRun, ListedRuns, RunReport, readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let place: GithubPlace;
let app: Environment;
let issueText: string;

beforeAll(async () => {
  place = await openGithubPlace();
  const { github, countersign } = place;
  app = {
    APP_ID: String(github.app.id),
    PRIVATE_KEY: github.app.privateKey,
    GHE_HOST: `127.0.0.1:${github.port}`,
    GHE_PROTOCOL: "http",
  };
  issueText = await place.addSample("hours");
  writeFileSync(join(countersign.folder, "issue.md"), issueText);
});

afterAll(() => place[Symbol.asyncDispose]());

const scripted = (): Environment => ({ OPENAI_BASE_URL: place.model.baseUrl, OPENAI_MODEL: place.model.model });
const addressOf = (name: string): string => `${place.github.origin}/acme/${name}`;

function start(repo: string, environment: Environment, more: readonly string[] = ["--json"]): Running {
  const argv = ["run", "--repo", repo, "--issue", "issue.md", "--open-pr", ...more];
  return place.countersign.start(argv, { ...app, ...environment });
}

/** The same in this process. */
const ask = (repo: string, environment: Environment): Promise<Ended> =>
  place.countersign.inProcess(["run", "--repo", repo, "--issue", "issue.md", "--open-pr", "--json"], {
    ...app,
    ...environment,
  });

/** Answers with its number. */
async function addTiny(name: string, files: Readonly<Record<string, string>> = {}): Promise<number> {
  return place.addRepository(name, await writeTinyRepository(join(place.countersign.folder, `files-${name}`), files));
}

/** A tiny repository on GitHub, and a run on it under way with a model that does these things. */
async function startTiny(name: string, moves: readonly Move[]) {
  const id = await addTiny(name);
  const model = await startPlannedModel(moves);
  const running = start(addressOf(name), { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" });
  void running.ended.finally(() => model[Symbol.asyncDispose]());
  return { id, running };
}

/** The same from its start to its end, in this process. */
async function runTiny(name: string, moves: readonly Move[], files: Readonly<Record<string, string>> = {}) {
  const id = await addTiny(name, files);
  await using model = await startPlannedModel(moves);
  const ended = await ask(addressOf(name), { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" });
  return { id, ended };
}

const note = call("create_file", { path: "note.txt", content: "kept\n" });
const branches = (name: string) => place.github.read.refs(`acme/${name}`, "refs/heads/countersign/");
const pulls = (name: string) => place.github.read.pulls(`acme/${name}`);
const writesTo = (id: number) =>
  place.github.requests.filter(({ method, path }) => method !== "GET" && path.includes(`/repositories/${id}/`));

async function expectNothingOnGithub(name: string, id: number): Promise<void> {
  expect(await branches(name)).toEqual([]);
  expect(await pulls(name)).toEqual([]);
  expect(writesTo(id)).toEqual([]);
}

async function expectVerified(): Promise<void> {
  const verified = readJson(Verified, await place.countersign.inProcess(["audit", "verify", "--json"]));
  expect(verified).toMatchObject({ ok: true, findings: [] });
}

/** One clear line on standard error and nothing else: no phase was begun. */
function expectRefused(ended: Ended, line: RegExp): void {
  expect(ended.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(ended.stderr).toMatch(line);
  expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
}

type Pull = {
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
  readonly head: { readonly sha: string };
};

describe("run --open-pr on a repository whose issue the model solves", () => {
  let ended: Ended;
  let report: RunReport;
  let pull: Pull;

  beforeAll(async () => {
    ended = await start(`${addressOf("hours")}.git`, scripted()).ended;
    report = readJson(RunReport, ended);
    [pull] = (await pulls("hours")) as unknown as [Pull];
  });

  it("opens one pull request that is ready, and reports it", async () => {
    expect(await pulls("hours")).toMatchObject([
      { draft: false, head: { ref: `countersign/issue-0-${report.run_id.slice(-8)}` }, base: { ref: "main" } },
    ]);
    expect(report).toMatchObject({
      conclusion: "success",
      pull_request: { number: 1, head_sha: pull.head.sha, draft: false, confirmed: true, diff_stat: report.diff_stat },
    });
    expect(report.actions.slice(-3).map(({ tool, state }) => [tool, state])).toEqual([
      ["push_commit", "succeeded"],
      ["set_check_run", "succeeded"],
      ["open_pull_request", "succeeded"],
    ]);
    expect(ended.exitCode).toBe(0);
  });

  it("gives a head that plain git fetches, whose tests pass and whose trailer names the run", () => {
    const folder = join(place.countersign.folder, "by-hand");
    const git = (...argv: readonly string[]): string =>
      execFileSync("git", argv, {
        cwd: place.countersign.folder,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    git("clone", "--quiet", "--no-checkout", place.gitFolder("acme/hours"), folder);
    git("-C", folder, "checkout", "--quiet", pull.head.sha);

    expect(() => execFileSync(process.execPath, ["--test"], { cwd: folder, stdio: "ignore" })).not.toThrow();
    const message = git("-C", folder, "log", "-1", "--format=%B");
    expect(message).toContain(`\nCountersign-Run: ${report.run_id}\n`);
    expect(message).toContain(`\nCountersign-Trace: ${report.trace_id}\n`);
    expect(message).toContain("Asked for in a local file.");
  });

  it("says in the pull request that a file of the local user asked for it, and refers to no issue", () => {
    const digest = createHash("sha256").update(issueText).digest("hex");

    expect(pull.body).toMatch(/^\*\*Verified\*\*: /);
    expect(pull.body).toMatch(/Asked for by the local user `local:\d+` at `[^`]+` by `countersign run --open-pr`\./);
    expect(pull.body).toContain(`not on GitHub; SHA-256 \`${digest}\``);
    expect(pull.body).toContain("denied by `floor:github_workflows`");
    expect(pull.body).not.toMatch(/Refs #|#0/);
  });

  it("sets a check on the commit alone, and writes no comment, reaction or label", () => {
    expect(place.github.read.checkRuns("acme/hours")).toMatchObject([
      { head_sha: pull.head.sha, external_id: report.run_id, conclusion: "success" },
    ]);
    const written = place.github.requests.filter(({ method, route }) => method !== "GET" && route.includes("/issues"));
    expect(written).toEqual([]);
  });

  it("leaves each write in the record as an action of the system, in a ledger that verifies", async () => {
    const shown = readJson(AuditedRun, await place.countersign.inProcess(["audit", "show", report.run_id, "--json"]));
    const writes = shown.actions.filter(({ tool }) =>
      ["push_commit", "set_check_run", "open_pull_request"].includes(tool),
    );

    expect(writes.map(({ event }) => [event.actor, event.outcome])).toEqual(writes.map(() => ["system", "ok"]));
    expect(writes).toHaveLength(3);
    await expectVerified();
  });
});

describe("run --open-pr where nothing may be published as verified", () => {
  it("opens a draft where the tests fail on the change, and ends with exit code 1", async () => {
    const failing = { ".github/countersign.yml": "version: 1\nverify: { run: test -f never.txt }\n" };
    const { ended } = await runTiny("failing", [note, finish], failing);

    expect(ended.exitCode, ended.stderr).toBe(1);
    expect(readJson(RunReport, ended)).toMatchObject({ conclusion: "failure", pull_request: { draft: true } });
    expect(await pulls("failing")).toMatchObject([
      { draft: true, body: expect.stringMatching(/^\*\*Not verified\*\*/) },
    ]);
  });

  it("pushes what a person at the terminal allowed, as a draft where it steers the tests", async () => {
    await addTiny("allowed");
    const manifest = call("create_file", { path: "package.json", content: '{ "private": true }\n' });
    await using model = await startPlannedModel([manifest, finish]);
    const argv = ["run", "--repo", addressOf("allowed"), "--issue", "issue.md", "--open-pr"];
    const environment = { ...app, OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
    const yes = { after: "Type yes to approve exactly this action, or a reason to deny it: ", keys: "yes\r" };
    const { stdout } = await onTerminal(place.countersign, argv, environment, [yes]);

    const [pull] = (await pulls("allowed")) as unknown as [Pull];
    expect(pull, stdout).toMatchObject({ draft: true, body: expect.stringContaining("- `package.json` (added)") });
    expect(stdout).toContain(
      `opened      draft pull request #1, ${addressOf("allowed")}/pull/1, head ${pull.head.sha}`,
    );
  });

  it("publishes nothing of a model that gives up, and prints its patch", async () => {
    const { id, ended } = await runTiny("given-up", [note, { kind: "status", status: 400, message: "no" }]);

    expect(ended.exitCode, ended.stderr).toBe(1);
    const report = readJson(RunReport, ended);
    expect(report).toMatchObject({ stop_reason: "model_unavailable", pull_request: null });
    expect(report.patch).toContain("+kept");
    await expectNothingOnGithub("given-up", id);
  });

  it("publishes nothing onto a base that was rewritten meanwhile", async () => {
    const { id, running } = await startTiny("rewritten", [note, finish]);
    const reads = gateReads(id);
    await reads.met;
    const bare = place.gitFolder("acme/rewritten");
    const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    const tree = execFileSync("git", ["-C", bare, "rev-parse", "main^{tree}"], { encoding: "utf8" }).trim();
    const commit = execFileSync("git", ["-C", bare, ...identity, "commit-tree", tree, "-m", "another"], {
      encoding: "utf8",
    });
    execFileSync("git", ["-C", bare, "update-ref", "refs/heads/main", commit.trim()]);
    reads.goOn();
    const ended = await running.ended;

    expect(readJson(RunReport, ended)).toMatchObject({
      conclusion: "action_required",
      cause: "the base branch was rewritten while the run worked on it",
      pull_request: null,
      patch: expect.stringContaining("+kept"),
    });
    await expectNothingOnGithub("rewritten", id);
  });
});

/** Holds the look at the repository that comes directly before the first write. */
function gateReads(id: number): { readonly met: Promise<void>; readonly goOn: () => void } {
  const held = Promise.withResolvers<void>();
  const { met } = place.github.fault({
    route: ({ path }) => path === `/api/v3/repositories/${id}`,
    nth: 2,
    fault: { kind: "delay", until: held.promise },
  });
  return { met, goOn: held.resolve };
}

describe("a signal", () => {
  it("while the model works ends the run as cancelled with nothing written", async () => {
    const { id, running } = await startTiny("stopped", [note, call("run_command", { command: "sleep 604" }), finish]);
    await running.line(/^ {3}create_file /);
    running.kill("SIGINT");
    const ended = await running.ended;

    expect(ended.exitCode, ended.stderr).toBe(1);
    expect(readJson(RunReport, ended)).toMatchObject({ conclusion: "cancelled", pull_request: null });
    await expectNothingOnGithub("stopped", id);
  });

  it("directly before publishing keeps the finished work as a patch", async () => {
    const { id, running } = await startTiny("stopped-late", [note, finish]);
    const reads = gateReads(id);
    await reads.met;
    running.kill("SIGINT");
    reads.goOn();
    const ended = await running.ended;

    expect(ended.exitCode, ended.stderr).toBe(1);
    const report = readJson(RunReport, ended);
    expect(report).toMatchObject({
      conclusion: "cancelled",
      cause: "the run was stopped before anything was published",
      pull_request: null,
    });
    const kept = await place.countersign.inProcess(["runs", "patch", report.run_id]);
    expect(kept.stdout).toContain("+kept");
    await expectNothingOnGithub("stopped-late", id);
  });
});

describe("a process killed while GitHub was asked for the pull request", () => {
  /** Answers with the run that was interrupted. */
  async function killAtPull(name: string, when: "before" | "after"): Promise<string> {
    const { id, running } = await startTiny(name, [note, finish]);
    const { met } = place.github.fault({
      route: ({ route, path }) => route.startsWith("POST ") && path === `/api/v3/repositories/${id}/pulls`,
      fault: { kind: "hang", when },
    });
    const started = await running.line(/^run \S+ on /);
    await met;
    running.kill("SIGKILL");
    await running.ended;
    return started.split(" ")[1] ?? "";
  }

  const lineOf = ({ stderr }: Ended, runId: string): string =>
    stderr.split("\n").find((text) => text.startsWith(`countersign: run ${runId} had been interrupted`)) ?? stderr;

  async function conclusionOf(runId: string): Promise<string | null | undefined> {
    const runs = readJson(ListedRuns, await place.countersign.inProcess(["runs", "list", "--json"]));
    return runs.find(({ run_id }) => run_id === runId)?.conclusion;
  }

  it("is looked for by the next start with the App, and written no second time", async () => {
    const [done = "", undone = ""] = await Promise.all([killAtPull("done", "after"), killAtPull("undone", "before")]);
    const next = await ask(addressOf("nowhere"), scripted());

    for (const runId of [done, undone]) {
      const line = lineOf(next, runId);
      expect(line).toContain(`on GitHub stands the branch countersign/issue-0-${runId.slice(-8)}`);
      expect(line).not.toContain("a person must look");
      expect(await conclusionOf(runId)).toBe("failure");
    }
    expect(lineOf(next, done)).toContain(`pull request ${addressOf("done")}/pull/1`);
    expect(lineOf(next, undone)).not.toContain("pull request http");
    expect([await pulls("done"), await pulls("undone")]).toMatchObject([[{ number: 1 }], []]);
    expect([await branches("done"), await branches("undone")]).toMatchObject([[{}], [{}]]);
  });

  it("is called unknown by a start without the App", async () => {
    const runId = await killAtPull("unknown", "after");
    const tiny = await writeTinyRepository(join(place.countersign.folder, "local"));
    await using model = await startPlannedModel([finish]);
    const next = await place.countersign.inProcess(["run", "--repo", tiny, "--issue", "issue.md"], {
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_MODEL: "planned",
    });

    expect(lineOf(next, runId)).toMatch(
      /; a person must look on GitHub whether this stands: open_pull_request [0-9a-f-]{36}; /,
    );
    expect(await conclusionOf(runId)).toBe("action_required");
  });

  it("leaves a ledger that verifies", expectVerified);
});

describe("run --open-pr is refused in one line before any work", () => {
  it("for a folder", async () => {
    const tiny = await writeTinyRepository(join(place.countersign.folder, "folder"));

    expectRefused(
      await start(tiny, scripted()).ended,
      /^countersign: a pull request needs the repository's address: .*; name the repository as `http:\/\/127\.0\.0\.1:\d+\/<owner>\/<name>` \[USAGE\]$/m,
    );
  });

  it("for an address on another host", async () => {
    expectRefused(
      await ask("https://github.com/acme/hours", scripted()),
      /`https:\/\/github\.com` is not the GitHub of this configuration; .*\[USAGE\]$/m,
    );
  });

  it("without credentials of an App", async () => {
    expectRefused(await ask(addressOf("hours"), { ...scripted(), APP_ID: "" }), /APP_ID: got nothing, expected /);
  });

  it("as an App that GitHub does not know", async () => {
    expectRefused(await ask(addressOf("hours"), { ...scripted(), APP_ID: "999999" }), /\[GITHUB_UNAUTHORIZED\]/);
  });

  it("where the App is not installed", async () => {
    const source = { kind: "empty" } as const;
    const never = new AbortController().signal;
    await place.github.createRepository({ owner: "acme", name: "closed", source, isInstalled: false }, never);

    expectRefused(
      await ask(addressOf("closed"), scripted()),
      /^countersign: the App is not installed on `acme\/closed`, or it does not exist; .*\[GITHUB_NOT_FOUND\]$/m,
    );
  });

  it("where the repository has no commit", async () => {
    const never = new AbortController().signal;
    await place.github.createRepository({ owner: "acme", name: "empty", source: { kind: "empty" } }, never);

    expectRefused(await ask(addressOf("empty"), scripted()), /\[GITHUB_EMPTY\]$/m);
  });

  it("where the repository is archived", async () => {
    await addTiny("archived");
    place.github.archive("acme/archived");

    expectRefused(await ask(addressOf("archived"), scripted()), /\[GITHUB_ARCHIVED\]$/m);
  });

  it("where the installation lacks a permission", async () => {
    const { github } = place;
    github.createAccount("strict", "Organization");
    const never = new AbortController().signal;
    await github.createRepository({ owner: "strict", name: "read-only", source: { kind: "empty" } }, never);
    const installation = github.installationId("strict/read-only");
    const issuesAndPulls = { issues: "write", pull_requests: "write", checks: "write", metadata: "read" } as const;
    github.setPermissions(installation, { ...issuesAndPulls, contents: "read" });

    expectRefused(
      await ask(`${github.origin}/strict/read-only`, scripted()),
      /^countersign: the App's installation on `strict\/read-only` lacks contents: write; .*\[GITHUB_FORBIDDEN\]$/m,
    );
  });
});
