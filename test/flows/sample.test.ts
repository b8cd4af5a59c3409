import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ScriptedModel, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { type Countersign, type Ended, openCountersign } from "../support/countersign.ts";
import { testsOnPatchedClone } from "../support/patched-clone.ts";
import { AuditedRun, ListedRuns, RunReport, readJson, Verified } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let countersign: Countersign;
let model: ScriptedModel;
let repository: string;
let ended: Ended;
let report: RunReport;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  model = await startScriptedModel({ clock: Date.now });
  repository = join(countersign.folder, "sample");
  const { issue } = await writeSampleRepository(repository, new AbortController().signal);
  writeFileSync(join(countersign.folder, "issue.md"), issue);
  const environment = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: model.model };
  ended = await countersign.command(["run", "--repo", repository, "--issue", "issue.md", "--json"], environment);
  report = readJson(RunReport, ended);
});

afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

/** Runs a command that has to succeed, and answers with what it printed. */
async function printedBy(by: "command" | "inProcess", argv: readonly string[]): Promise<string> {
  const command = await countersign[by](argv);
  expect(command, command.stderr).toMatchObject({ exitCode: 0, stderr: "" });
  return command.stdout;
}
const printed = (...argv: readonly string[]): Promise<string> => printedBy("inProcess", argv);

describe("a run on the sample repository", () => {
  it("ends well, verified by the project's own tests, with the contract's object", () => {
    expect(ended.exitCode, ended.stderr).toBe(0);
    expect(report).toMatchObject({
      conclusion: "success",
      pull_request: null,
      left_out: [],
      tests: { derived: false, before: { exit_code: 1 }, after: { exit_code: 0 } },
      ledger: { verified: true },
    });
    expect(report.tokens.input).toBeGreaterThan(0);
  });

  it("gives a patch that plain git applies to a fresh clone, whose tests then pass", () => {
    const folder = join(countersign.folder, "by-hand");
    mkdirSync(folder);

    const status = testsOnPatchedClone(repository, report.patch, [process.execPath, "--test"], folder);

    expect(status).toBe(0);
  });

  it("shows each call that was denied, malformed or ambiguous, with its reason", () => {
    const notDone = report.actions.filter(({ reason }) => reason !== null);

    expect(notDone).toMatchObject([
      {
        tool: "create_file",
        state: "denied",
        decision: "deny",
        policy_ids: ["floor:github_workflows"],
        reason: { code: "policy_denied" },
      },
      { tool: "read_file", state: "invalid", decision: null, reason: { code: "invalid_arguments" } },
      { tool: "edit_file", state: "invalid", decision: "allow", reason: { code: "anchor_ambiguous" } },
    ]);
  });

  it("tells its progress in plain lines where nobody sits at a terminal", () => {
    const phases = ended.stderr.split("\n").filter((line) => line.startsWith("-- "));

    expect(phases).toEqual(["-- prepare", "-- tests before", "-- work", "-- tests after", "-- settle"]);
    expect(ended.stderr).toMatch(/ {3}create_file +deny +denied .*policy_denied: floor:github_workflows/);
    expect(ended.stderr).not.toContain("\x1b");
  });

  it("leaves the repository that was named untouched", async () => {
    const again = await writeSampleRepository(join(countersign.folder, "again"), new AbortController().signal);

    expect(report.patch).toContain("src/hours.js");
    expect(
      testsOnPatchedClone(
        repository,
        report.patch,
        ["git", "diff", "--exit-code", again.commitSha, "--", "README.md"],
        mkdir("untouched"),
      ),
    ).toBe(0);
  });
});

function mkdir(name: string): string {
  const folder = join(countersign.folder, name);
  mkdirSync(folder);
  return folder;
}

describe("the record of the run", () => {
  it("shows the audit event of each action, and what became of it", async () => {
    const { run_id, actions } = readJson(AuditedRun, {
      stdout: await printed("audit", "show", report.run_id, "--json"),
      stderr: "",
    });

    expect(run_id).toBe(report.run_id);
    expect(actions.map(({ action_id }) => action_id)).toEqual(report.actions.map(({ action_id }) => action_id));
    const events = actions.map(({ event }) => ({ ...event, digest: event.arguments_digest !== null }));
    expect(events).toContainEqual(
      expect.objectContaining({ action: "create_file", allowed: false, outcome: "denied" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ action: "read_file", allowed: null, outcome: "parse:invalid_arguments" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ action: "edit_file", allowed: true, outcome: "validation:anchor_ambiguous" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ actor: `run:${report.run_id}`, action: "edit_file", allowed: true, outcome: "ok" }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ actor: "system", action: "run_verification", allowed: true, outcome: "ok" }),
    );
  });

  it("tells in its first entry what held its sandboxes to their limits (SEC-53)", async () => {
    const of = `where body is not null and convert_from(body, 'UTF8')::jsonb ->> 'runId' = $1 order by index limit 1`;
    const query = `select convert_from(body, 'UTF8')::jsonb -> 'evidence' ->> 'limitsRung' as rung from ledger_entries ${of}`;

    const [first] = (await countersign.store?.sql<{ readonly rung: string }>(query, [report.run_id])) ?? [];

    expect(first?.rung).toMatch(/^(cgroup_v2|cgroup_v1|prlimit)$/);
  });

  it("shows one action: what was proposed and validated, what decided, what it did", async () => {
    const denied = report.actions.find(({ state }) => state === "denied");
    const id = denied?.action_id ?? "";

    const text = await printed("audit", "show", id);
    const one = readJson(AuditedRun, { stdout: await printed("audit", "show", id, "--json"), stderr: "" });

    expect(text).toContain("authorized  no, by policy `floor:github_workflows`");
    expect(text).toContain('proposed    {"path":".github/workflows/tests.yml"');
    expect(one).toMatchObject({ run_id: report.run_id, actions: [{ action_id: id, state: "denied" }] });
  });

  it("computes the digest of an action from its arguments, and another one for other arguments", async () => {
    const denied = report.actions.find(({ state }) => state === "denied");
    const args = { content: "on: push\njobs: {}\n", path: ".github/workflows/tests.yml" };
    writeFileSync(join(countersign.folder, "arguments.json"), JSON.stringify(args, null, 4));
    writeFileSync(join(countersign.folder, "others.json"), JSON.stringify({ ...args, path: "x" }));

    const hashed = await printed("audit", "hash", "--run", report.run_id, "arguments.json");
    const others = await printed("audit", "hash", "--run", report.run_id, "others.json");

    expect(hashed.split("\n")[1]).toBe(denied?.arguments_digest);
    expect(others.split("\n")[1]).not.toBe(denied?.arguments_digest);
  });

  it("lists the run, shows its end and prints its patch again", async () => {
    const listed = readJson(ListedRuns, { stdout: await printed("runs", "list", "--json"), stderr: "" });
    const shown = await printed("runs", "show", report.run_id);

    expect(listed).toMatchObject([
      { run_id: report.run_id, repository: "sample", status: "completed", conclusion: "success", attempt: 0 },
    ]);
    expect(shown).toContain("success: the tests pass on a fresh tree of the base and the change");
    expect(shown).toMatch(/create_file: denied by floor:github_workflows/);
    expect(await printed("runs", "patch", report.run_id)).toBe(report.patch);
  });

  it("prints the table for people where no JSON is asked for", async () => {
    const list = await printedBy("command", ["runs", "list"]);
    const show = await printedBy("command", ["audit", "show", report.run_id]);
    const verified = await printedBy("command", ["audit", "verify"]);

    expect(list).toContain(report.run_id);
    expect(show).toMatch(/^ACTION +TOOL +ALLOWED +STATE +OUTCOME +TIME/);
    expect(verified).toMatch(/^verified: \d+ entries, root /);
  });

  it("says so for an id that is not there", async () => {
    const other = await countersign.command(["audit", "show", "00000000-0000-7000-8000-000000000000"]);

    expect(other).toMatchObject({ exitCode: 1, stdout: "" });
    expect(other.stderr).toMatch(/^countersign: there is no run, action or approval `0{8}.* \[NOT_FOUND\]\n$/);
  });
});

describe("audit verify", () => {
  it("holds for what was recorded", async () => {
    const verified = readJson(Verified, { stdout: await printed("audit", "verify", "--json"), stderr: "" });

    expect(verified).toMatchObject({ ok: true, findings: [], size: report.ledger.size });
    expect(verified.root_hash).toBe(report.ledger.root_hash);
  });

  const flip = (column: string): string =>
    `set ${column} = set_byte(${column}, length(${column}) / 2, get_byte(${column}, length(${column}) / 2) # 1)`;
  it.each([
    ["an entry's body", "ledger_entries", flip("body"), "index = 7"],
    ["an entry's leaf", "ledger_entries", flip("leaf_hash"), "index = 7"],
    [
      "a node of the tree",
      "ledger_nodes",
      flip("hash"),
      "(level, position) = (select level, position from ledger_nodes where level = 3 order by 2 limit 1)",
    ],
    ["a sealed text", "sealed", flip("ciphertext"), "id = (select min(id) from sealed where field = 'raw')"],
  ])(
    "turns red when one byte of %s is changed, and green again when it is put back",
    async (_, table, change, where) => {
      const { store } = countersign;
      const tamper = async (): Promise<void> => {
        await store?.sql(`alter table ${table} disable trigger all`);
        await store?.sql(`alter table ${table} drop constraint if exists ledger_entries_leaf_hash`);
        await store?.sql(`update ${table} ${change} where ${where}`);
        await store?.sql(`alter table ${table} enable trigger all`);
      };

      await tamper();
      const broken = await countersign.inProcess(["audit", "verify", "--json"]);
      await tamper();
      const mended = await countersign.inProcess(["audit", "verify", "--json"]);

      expect(broken.exitCode, broken.stderr).toBe(1);
      expect(readJson(Verified, broken)).toMatchObject({ ok: false });
      expect(readJson(Verified, broken).findings).not.toEqual([]);
      expect(mended.exitCode).toBe(0);
    },
  );
});

describe("schemas", () => {
  it("writes exactly the files that are committed", async () => {
    const folder = resolve(import.meta.dirname, "../../tools_schemas");
    const texts = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
    const before = texts();

    const written = await printed("schemas");

    expect(written).toBe(`${before.length} schemas written to ${folder}\n`);
    expect(texts()).toEqual(before);
  });
});
