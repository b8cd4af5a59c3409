import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Countersign, type Ended, type Environment, openCountersign } from "../support/countersign.ts";
import type { ModelServer } from "../support/model-server.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { RunReport, readJson } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const isRoot = process.getuid?.() === 0;
const standard = resolve(import.meta.dirname, "../../policies/standard");

let countersign: Countersign;
let model: ModelServer;
let repository: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  model = await startPlannedModel([call("create_file", { path: "note.txt", content: "kept\n" }), finish]);
  repository = await writeTinyRepository(join(countersign.folder, "tiny"));
  writeIn("issue.md", "# Write a note\n");
});

afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

function writeIn(name: string, content: string | Uint8Array): string {
  const path = join(countersign.folder, name);
  writeFileSync(path, content);
  return path;
}

type Asked = { readonly repo?: string; readonly issue?: string; readonly by?: "command" | "inProcess" };

/** In a process of its own for one of each kind; for the others it is the same command line and the same wiring. */
function run({ repo = repository, issue = "issue.md", by = "inProcess" }: Asked, environment: Environment = {}) {
  const served = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
  return countersign[by](["run", "--repo", repo, "--issue", issue, "--json"], { ...served, ...environment });
}

/** One clear line on standard error, besides the progress, nothing on standard output, and this exit code. */
function expectOneLine(ended: Ended, exitCode: number, line: RegExp): void {
  const told = ended.stderr.split("\n").filter((text) => text !== "" && !text.startsWith("-- "));
  expect(told, ended.stderr).toHaveLength(1);
  expect(told[0]).toMatch(line);
  expect(ended).toMatchObject({ exitCode, stdout: "" });
}

describe("the command line", () => {
  it.each([
    [["fly"], /^countersign: unknown command `fly`; see `countersign --help` \[USAGE\]$/],
    [
      ["run", "--repo", ".", "--issue", "issue.md", "--fast"],
      /^countersign: unknown option `--fast`; see `countersign run --help` \[USAGE\]$/,
    ],
    [["run", "--repo", "."], /^countersign: required option `--issue <file.md>` not specified; .*\[USAGE\]$/],
    [["audit", "show"], /^countersign: missing required argument `id`; see `countersign audit show --help` \[USAGE\]$/],
    [["runs", "show", "nonsense"], /^countersign: there is no run `nonsense` .*\[NOT_FOUND\]$/],
  ])("%j ends with one line", async (argv, line) => {
    const ended = await countersign[argv[0] === "fly" ? "command" : "inProcess"](argv);

    expectOneLine(ended, line.source.includes("NOT_FOUND") ? 1 : 2, line);
  });

  it("prints its help with exit code 0", async () => {
    const help = await countersign.command(["run", "--help"]);

    expect(help).toMatchObject({ exitCode: 0, stderr: "" });
    expect(help.stdout).toContain("--repo <path|url>");
  });
});

describe("the environment", () => {
  it.each<[string, Environment, RegExp]>([
    [
      "no model",
      { OPENAI_MODEL: "" },
      /^countersign: OPENAI_MODEL: got nothing, expected .*; for example OPENAI_MODEL=/,
    ],
    [
      "no address of a model",
      { OPENAI_BASE_URL: "" },
      /^countersign: OPENAI_BASE_URL: got nothing, and no OPENAI_API_KEY/,
    ],
    [
      "a malformed address",
      { OPENAI_BASE_URL: "localhost" },
      /^countersign: OPENAI_BASE_URL: got `localhost`, expected/,
    ],
    [
      "malformed user ids",
      { COUNTERSIGN_RUN_UIDS: "many" },
      /^countersign: COUNTERSIGN_RUN_UIDS: got `many`, expected/,
    ],
    [
      "another kind of database",
      { DATABASE_URL: "mysql://u:hunter2@h/d" },
      /^countersign: DATABASE_URL: got a URL of the/,
    ],
    [
      "a database that is not there",
      { DATABASE_URL: "postgres://u:hunter2@127.0.0.1:1/d" },
      /^countersign: the database at `postgresql:\/\/127\.0\.0\.1:1\/d` can't be used: .*DATABASE_URL.*\[DATABASE_UNREACHABLE\]$/,
    ],
    ["a policy folder that is not there", { COUNTERSIGN_POLICIES: "/nowhere" }, /^countersign: .*`?\/nowhere.*\]$/],
    [
      "a home below a file",
      { COUNTERSIGN_HOME: "/dev/null/home" },
      /^countersign: .*\/dev\/null.*COUNTERSIGN_HOME.*\]$/,
    ],
  ])("with %s stops the start with one line", async (what, environment, line) => {
    const ended = await run({ by: what === "no model" ? "command" : "inProcess" }, environment);

    expectOneLine(ended, 2, line);
    expect(ended.stderr).not.toContain("hunter2");
  });

  it("with a wrong password for the database stops the start with one line that does not show it", async () => {
    const url = new URL(countersign.environment["DATABASE_URL"] ?? "");
    url.password = "hunter2";

    const ended = await run({ by: "command" }, { DATABASE_URL: url.href });

    expectOneLine(ended, 2, /^countersign: .*password authentication failed.*\[DATABASE_UNREACHABLE\]$/);
    expect(ended.stderr).not.toContain("hunter2");
  });
});

describe("what a run needs of the machine", () => {
  /** A folder of programs: links to those named, and scripts. */
  function programs(name: string, links: readonly string[], scripts: Readonly<Record<string, string>> = {}): string {
    const folder = join(countersign.folder, name);
    mkdirSync(folder);
    for (const link of links) symlinkSync(`/usr/bin/${link}`, join(folder, link));
    for (const [script, text] of Object.entries(scripts)) {
      writeFileSync(join(folder, script), text);
      chmodSync(join(folder, script), 0o755);
    }
    return folder;
  }

  it("no bubblewrap: refuses to start, and says what to install", async () => {
    const ended = await run({ by: "command" }, { PATH: programs("without-bwrap", ["git"]) });

    expectOneLine(
      ended,
      2,
      /^countersign: bwrap is in none of `.*`; install bubblewrap 0\.8\.0 or newer.*\[BUBBLEWRAP_MISSING\]$/,
    );
  });

  it("a bubblewrap that is too old: names its version and the one that is needed", async () => {
    const old = programs("old-bwrap", ["git"], { bwrap: "#!/bin/sh\necho bubblewrap 0.6.2\n" });

    expectOneLine(await run({}, { PATH: old }), 2, /bwrap` is version 0\.6\.2; needed is 0\.8\.0 or newer/);
  });

  it("no git: refuses to start, and says what to install", async () => {
    const ended = await run({}, { PATH: programs("without-git", ["bwrap"]) });

    expectOneLine(ended, 2, /^countersign: git is in none of `.*`; install git.*\[GIT_MISSING\]$/);
  });

  it.each<[string, string, RegExp]>([
    [
      "no user id",
      "",
      /^countersign: started by root without COUNTERSIGN_RUN_UIDS.*64200-64299.*\[RUN_UID_UNUSABLE\]$/,
    ],
    [
      "the user id of somebody",
      "1",
      /^countersign: user id 1 of COUNTERSIGN_RUN_UIDS belongs to `\w+`.*\[RUN_UID_UNUSABLE\]$/,
    ],
  ])("started by root with %s for sandboxes: refuses to start; an ordinary user needs none", async (_, uids, line) => {
    const ended = await run({}, { COUNTERSIGN_RUN_UIDS: uids });

    expect(ended).toMatchObject(isRoot ? { exitCode: 2, stdout: "" } : { exitCode: 0 });
    expect(ended.stderr.trimEnd().split("\n").at(-1)).toMatch(isRoot ? line : /^-- settle$/);
  });
});

describe("the issue", () => {
  it.each<[string, () => string, RegExp]>([
    ["is not there", () => "no-such.md", /`no-such\.md` can't be read.*\[ISSUE_UNREADABLE\]$/],
    ["is a folder", () => "tiny", /`tiny` can't be read.*\[ISSUE_UNREADABLE\]$/],
    ["has no end", () => "/dev/zero", /`\/dev\/zero` has more than 256 KiB.*\[ISSUE_UNREADABLE\]$/],
    [
      "is too large",
      () => writeIn("large.md", "x".repeat(262_145)),
      /large\.md` has more than 256 KiB.*\[ISSUE_UNREADABLE\]$/,
    ],
    [
      "is no UTF-8",
      () => writeIn("latin.md", Buffer.from("caf\xe9", "latin1")),
      /latin\.md` is not UTF-8 text.*\[ISSUE_UNREADABLE\]$/,
    ],
    ["is empty", () => writeIn("empty.md", ""), /empty\.md` has no text.*\[ISSUE_EMPTY\]$/],
    ["has blanks alone", () => writeIn("blank.md", " \n\t\n"), /blank\.md` has no text.*\[ISSUE_EMPTY\]$/],
    [
      "has nothing but a heading's mark",
      () => writeIn("mark.md", "# \n##\n"),
      /mark\.md` has no text.*\[ISSUE_EMPTY\]$/,
    ],
    [
      "has invisible characters alone",
      () => writeIn("unseen.md", "\u200b\u2060\n"),
      /unseen\.md` has no text.*\[ISSUE_EMPTY\]$/,
    ],
  ])("that %s is refused before anything is begun", async (what, file, line) => {
    expectOneLine(await run({ issue: file(), by: what === "is not there" ? "command" : "inProcess" }), 2, line);
  });
});

describe("the repository", () => {
  const git = (...argv: readonly string[]): void => {
    execFileSync("git", [...argv], { env: { PATH: "/usr/bin:/bin", HOME: countersign.folder }, stdio: "ignore" });
  };
  const made = (name: string, make: (folder: string) => void): string => {
    const folder = join(countersign.folder, name);
    mkdirSync(folder);
    make(folder);
    return folder;
  };

  it.each<[string, () => string, RegExp]>([
    ["is not there", () => "no-such", /no-such` does not exist.*\[NOT_A_REPOSITORY\]$/],
    ["is a file", () => "issue.md", /issue\.md` is no folder.*\[NOT_A_REPOSITORY\]$/],
    [
      "is a folder without git",
      () => made("plain", () => undefined),
      /plain` is no git repository.*\[NOT_A_REPOSITORY\]$/,
    ],
    [
      "lies in a repository",
      () => made("tiny/below", () => undefined),
      /below` is no git repository.*\[NOT_A_REPOSITORY\]$/,
    ],
    [
      "has no commit",
      () => made("new", (at) => git("init", "-q", at)),
      /new` has no commit yet.*\[NOT_A_REPOSITORY\]$/,
    ],
    [
      "is bare",
      () => made("bare", (at) => git("init", "-q", "--bare", at)),
      /bare` is a bare repository.*\[NOT_A_REPOSITORY\]$/,
    ],
  ])("that %s is refused before anything is begun", async (what, repo, line) => {
    expectOneLine(await run({ repo: repo(), by: what === "is not there" ? "command" : "inProcess" }), 2, line);
  });

  it("with settings that can't be used is refused with the place", async () => {
    const settings = "version: 1\nverify: { run: make test }\nverfy: {}\n";
    const repo = await writeTinyRepository(join(countersign.folder, "typo"), { ".github/countersign.yml": settings });

    expectOneLine(await run({ repo }), 2, /countersign\.yml.*verfy.*\[SETTINGS_INVALID\]$/);
  });

  it("without any verify command ends neutral, says so, and its patch is kept", async () => {
    const repo = await writeTinyRepository(join(countersign.folder, "untested"), {
      ".github/countersign.yml": "version: 1\n",
    });

    const ended = await run({ repo, by: "command" });
    const report = readJson(RunReport, ended);

    expect(ended.exitCode).toBe(1);
    expect(report).toMatchObject({ conclusion: "neutral", tests: { command: null, before: null, after: null } });
    expect(report.cause).toMatch(/names no verify command; add `verify` to `\.github\/countersign\.yml`/);
    await expectKept(report);
  });

  it("whose verify command is not in the sandbox ends neutral, names it and what looks for it, and its patch is kept", async () => {
    const settings = "version: 1\nverify: { run: no-such-tool --all }\n";
    const repo = await writeTinyRepository(join(countersign.folder, "toolless"), {
      ".github/countersign.yml": settings,
    });

    const ended = await run({ repo });
    const report = readJson(RunReport, ended);

    expect(ended.exitCode).toBe(1);
    expect(report.conclusion).toBe("neutral");
    expect(report.cause).toMatch(
      /`no-such-tool` is not in the sandbox \(looked for in .*\/usr\/bin.*`countersign doctor --sandbox`/,
    );
    await expectKept(report);
  });

  async function expectKept({ run_id, patch }: RunReport): Promise<void> {
    expect(patch).toContain("+kept");
    expect(await countersign.inProcess(["runs", "patch", run_id])).toMatchObject({ exitCode: 0, stdout: patch });
  }
});

describe("the operator's policies", () => {
  function policies(name: string, change: (folder: string) => void): Environment {
    const folder = join(countersign.folder, name);
    cpSync(standard, folder, { recursive: true });
    change(folder);
    return { COUNTERSIGN_POLICIES: folder };
  }

  it("that don't parse stop the start with file, line and column", async () => {
    const environment = policies("broken", (folder) => {
      writeFileSync(
        join(folder, "extra.cedar"),
        '@id("x")\nforbid (principal, action, resource) when { contxt.risk };\n',
      );
    });

    expectOneLine(await run({}, environment), 2, /extra\.cedar:2:\d+.*\[POLICY_INVALID\]$/);
  });

  it("with an unknown key in operator.json stop the start with its name", async () => {
    const environment = policies("unknown-key", (folder) => {
      const path = join(folder, "operator.json");
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), faliure_policy: "x" }));
    });

    expectOneLine(await run({}, environment), 2, /operator\.json.*faliure_policy.*\[CONFIG_INVALID\]$/);
  });
});
