import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { AskApproval, RunReport } from "../../src/run/index.ts";
import { aRepository } from "../support/checkout.ts";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { type LocalRegistry, projectFiles, registryHost, startLocalRegistry } from "../support/local-registry.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { standardFolder } from "../support/policy-requests.ts";
import { runInProcess } from "../support/run-in-process.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let countersign: Countersign;
let registry: LocalRegistry;
let user: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  registry = await startLocalRegistry();
  user = join(countersign.folder, "user");
  writeFileSync(join(user, "ca.pem"), registry.certificate);
  writeFileSync(join(user, ".npmrc"), `registry=https://${registryHost}/mirror/\ncafile=${join(user, "ca.pem")}\n`);
});

afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

/** The shipped policies with a setup of the test's. */
function policiesWith(setup: object): string {
  const folder = join(countersign.folder, `policies-${Math.random().toString(36).slice(2)}`);
  cpSync(standardFolder, folder, { recursive: true });
  const file = join(folder, "operator.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), setup }));
  return folder;
}

const registries = { network: "registries", internal_host: { host: registryHost, addresses: "127.0.0.0/8" } };

type Wanted = {
  readonly name: string;
  readonly setup: string;
  readonly moves: readonly Move[];
  readonly operator?: object;
  readonly askApproval?: AskApproval;
};

type Ran = {
  readonly report: RunReport;
  /** What the model was told. */
  readonly said: readonly string[];
  /** What the host looked up and dialed for its setups. */
  readonly reached: readonly string[];
};

/** A run on the project with these settings. */
async function run(wanted: Wanted): Promise<Ran> {
  const repository = join(countersign.folder, wanted.name);
  mkdirSync(repository);
  aRepository(repository, {
    ...projectFiles,
    ".github/countersign.yml": `version: 1\nsetup: ${wanted.setup}\nverify: { run: npm test }\n`,
  });
  const said: string[] = [];
  await using model = await startPlannedModel(wanted.moves, (_, text) => void said.push(text));
  const reach = registry.reach();
  const settings = {
    policiesFolder: policiesWith(wanted.operator ?? registries),
    setupNetwork: { reach, packageManagers: { HOME: user } },
  };
  const { askApproval } = wanted;
  const asked = { repository, baseUrl: model.baseUrl, silenceMs: 60_000, settings };
  const report = await runInProcess(countersign, askApproval === undefined ? asked : { ...asked, askApproval });
  return { report, said, reached: [...new Set(reach.log)] };
}

const note = call("create_file", { path: "note.txt", content: "noted\n" });
const look = call("run_command", {
  command: "npm test && ls -d node_modules/tiny; env | grep -i -c proxy; ls /opt/network",
  timeout_s: null,
});
const setups = ({ actions }: RunReport) => actions.filter(({ tool }) => tool === "run_setup");

describe("a run whose tests need what setup installs (SEC-65, SEC-66)", () => {
  it("sets up the base, the checkout and the tree of the verdict, and works without a network between", async () => {
    const { report, said, reached } = await run({
      name: "whole",
      setup: "{ run: npm ci, network: registries }",
      moves: [look, note, finish],
    });

    expect(report, report.cause).toMatchObject({ conclusion: "success", leftOut: [], ledger: { verified: true } });
    expect(report.patch.match(/^diff --git .*$/gm)).toEqual(["diff --git a/note.txt b/note.txt"]);
    expect(report.actions.map(({ tool }) => tool)).toEqual([
      "run_setup",
      "run_verification",
      "run_setup",
      "run_command",
      "create_file",
      "finish",
      "run_setup",
      "run_verification",
    ]);
    for (const { status, record } of setups(report)) {
      expect(status).toBe("ok");
      expect(record).toMatchObject({ hosts: [registryHost], asked: [{ host: registryHost, outcome: "led_on" }] });
    }
    expect(reached).toEqual([`resolve ${registryHost}`, "dial 127.0.0.1:443"]);
    expect(said.at(-1)).toMatch(/node_modules\/tiny\\n0\\n.*cannot access '\/opt\/network'/);
  });

  it("ends before the model is asked where setup fails, and says why and what to do", async () => {
    const setup = `{ run: "npm ci --registry=https://elsewhere.test/ --fetch-retries=0", network: registries }`;

    const { report, said, reached } = await run({ name: "refused", setup, moves: [finish] });

    expect(report).toMatchObject({ conclusion: "action_required", stopReason: "setup_failed", patch: "" });
    expect(report.cause).toMatch(
      /^setup failed: `npm ci .*` ended with exit code \d+; elsewhere\.test was refused \(not_listed\); .*`setup\.hosts` of `operator\.json`.*\[SETUP_FAILED\]$/,
    );
    expect(report.actions).toMatchObject([{ tool: "run_setup", status: "failed" }]);
    expect(said).toEqual([]);
    expect(reached).toEqual([]);
    const rows = await countersign.store?.sql<{ readonly body: string }>(
      "select convert_from(body, 'UTF8') as body from ledger_entries where run_id = $1",
      [report.runId],
    );
    const entries = rows?.map(({ body }) => body).join("\n");
    expect(entries).toContain('"refused_causes":["not_listed"]');
    expect(entries).not.toContain("elsewhere");
  });

  it("names the program that is not there, and gives no network that the operator does not", async () => {
    const setup = "{ run: ls /opt/network || no-such-manager install, network: registries }";

    const { report } = await run({ name: "missing", setup, moves: [finish], operator: {} });

    expect(report.cause).toContain("needs `no-such-manager`, which is not in the sandbox");
    expect(report.actions).toMatchObject([{ record: { hosts: [], asked: [], missing_program: "no-such-manager" } }]);
  });
});

describe("a dependency that the model changes (SEC-72)", () => {
  const read = call("read_file", { path: "package.json", line_from: null, line_count: null });
  const edit = call("edit_file", {
    path: "package.json",
    edits: [{ anchor: '"version":"1.0.0"', replacement: '"version":"1.0.1"' }],
  });
  const setup = `{ run: "npm ci && cat package.json > node_modules/seen", network: registries }`;
  const answering =
    (isSetupGranted: boolean, asked: string[]): AskApproval =>
    (question) => {
      const { tool } = question.trail.proposed;
      asked.push(tool);
      return Promise.resolve({ isGranted: tool !== "run_setup" || isSetupGranted, reason: "" });
    };

  it("is asked for as an edit, and once more before setup is run on it", async () => {
    const asked: string[] = [];

    const { report } = await run({
      name: "granted",
      setup,
      moves: [read, edit, finish],
      askApproval: answering(true, asked),
    });

    expect(asked).toEqual(["edit_file", "run_setup"]);
    expect(setups(report)).toMatchObject([{ status: "ok" }, { status: "ok" }, { status: "ok" }]);
    expect(report.cause).not.toContain("not verified: setup");
  });

  it("is never verified where nobody agrees, and what was done is kept", async () => {
    const asked: string[] = [];

    const { report } = await run({
      name: "denied",
      setup,
      moves: [read, edit, finish],
      askApproval: answering(false, asked),
    });

    expect(asked).toEqual(["edit_file", "run_setup"]);
    expect(report).toMatchObject({ conclusion: "neutral" });
    expect(report.cause).toContain("not verified: setup did not run");
    expect(report.patch).toContain("package.json");
  });
});
