import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { openRecords } from "../../src/app/index.ts";
import { startScriptedModel } from "../../src/demo/index.ts";
import { createRedactor } from "../../src/domain/index.ts";
import { commandLine } from "../support/cli.ts";
import { type Countersign, type Ended, mountsOf, openCountersign, processesOf } from "../support/countersign.ts";
import { RunReport, readJson, Verified } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 240_000 });

let countersign: Countersign;
/** An ordinary user's demonstration lies in the temporary folder. */
let environment: Record<string, string>;

beforeAll(async () => {
  countersign = await openCountersign("own");
  environment = { TMPDIR: countersign.folder };
});

afterAll(() => countersign[Symbol.asyncDispose]());

const DemoReport = RunReport.extend({
  pull_request: z.object({
    number: z.int(),
    url: z.url(),
    head_sha: z.string(),
    diff_stat: z.object({ files: z.int(), added: z.int(), removed: z.int() }),
  }),
  head_as_tested: z.boolean(),
  trace: z.object({ spans: z.int(), whole: z.boolean() }),
  phases: z.array(z.object({ name: z.string(), duration_ms: z.number() })),
});

/** What `policy replay` made of all recorded decisions (AUD-31). */
const ReplayCounts = z.object({ reproduced: z.int(), different: z.int(), erased: z.int(), unreadable: z.int() });

/** What `policy explain` made of the decisions on one action (AUD-31). */
const Explained = z.object({ decisions: z.array(z.object({ result: z.string() })) });

/** Explains each action on record, as the command does; the records of the demonstration are opened once for all. */
async function explainAll(home: string): Promise<readonly { readonly exitCode: number; readonly result: string }[]> {
  const deps = { clock: Date.now, randomBytes, redactor: createRedactor([]), notice: () => undefined };
  const settings = { home, databaseUrl: null, policiesFolder: "", runUids: null, searchPath: null };
  await using records = await openRecords(deps, settings, new AbortController().signal);
  const given = {
    clock: Date.now,
    openRecords: () => Promise.resolve({ ...records, [Symbol.asyncDispose]: () => Promise.resolve() }),
  };
  const actions = await records.store.db
    .selectFrom("actions")
    .select("action_id as id")
    .orderBy("first_index")
    .execute();
  const explained: { exitCode: number; result: string }[] = [];
  for (const { id } of actions) {
    const { exitCode, out } = await commandLine(["policy", "explain", id, "--json"], given);
    for (const { result } of Explained.parse(JSON.parse(out)).decisions) explained.push({ exitCode, result });
  }
  return explained;
}

/** Folders of demonstrations, wherever this user has them. */
const demoFolders = (): readonly string[] =>
  [countersign.folder, countersign.home]
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true }).map(({ name }) => join(folder, name)))
    .filter((path) => /\/(countersign-)?demo-[^/]+$/.test(path));

function expectNothingRuns(): void {
  expect(processesOf(countersign.folder)).toEqual([]);
  expect(mountsOf(countersign.folder)).toEqual([]);
}

describe("the demonstration", () => {
  it("takes the model that the environment names, and cleans up where it is stopped at work", async () => {
    const waiting = Promise.withResolvers<void>();
    const options = { model: "some-model", apiKey: "some-key", latencyMs: 120_000, onRequest: () => waiting.resolve() };
    await using model = await startScriptedModel({ clock: Date.now }, options);
    const running = countersign.start(["demo"], {
      ...environment,
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_MODEL: "some-model",
      OPENAI_API_KEY: "some-key",
    });

    await waiting.promise;
    running.kill("SIGINT");
    const ended = await running.ended;

    expect(ended).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ended.stderr).toContain(`the model some-model at ${model.baseUrl}`);
    expect(ended.stderr).toMatch(/countersign: stopped by SIGINT; .* \[ABORTED\]\n$/);
    expect(ended.stderr).not.toContain("some-key");
    expect(demoFolders()).toEqual([]);
    expectNothingRuns();
  });

  it("asks for settings where a real model is wanted and none is named", async () => {
    const ended = await countersign.inProcess(["demo", "--real"], environment);

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toMatch(/^countersign: OPENAI_MODEL: got nothing, .* \[CONFIG_INVALID\]\n$/);
  });
});

/** By the address and the file with the password, as the demonstration names them. */
async function openPages(line: string): Promise<string> {
  const [, address = "", file = ""] = /^ {2}pages +(\S+), any user, password in (\S+)$/.exec(line) ?? [];
  const credentials = Buffer.from(`me:${readFileSync(file, "utf8").trim()}`).toString("base64");
  const answer = await fetch(address, { headers: { authorization: `Basic ${credentials}` } });
  expect(answer.status).toBe(200);
  return answer.text();
}

describe("a demonstration that is kept", () => {
  let home: string;
  let ended: Ended;
  let report: z.infer<typeof DemoReport>;
  let page: string;
  let runsPage: string;

  beforeAll(async () => {
    const running = countersign.start(["demo", "--keep", "--json"], environment);
    await running.line(/^Ctrl-C stops it; the record stays in /);
    [home = ""] = demoFolders();
    const address = (await running.line(/^ {2}pull request /)).replace(/^ {2}pull request +/, "");
    page = await (await fetch(address)).text();
    runsPage = await openPages(await running.line(/^ {2}pages /));
    running.kill("SIGINT");
    ended = await running.ended;
    report = readJson(DemoReport, ended);
  });

  it("ends with a pull request whose head is what was tested, and the contract's object alone", () => {
    expect(ended.exitCode, ended.stderr).toBe(0);
    expect(report).toMatchObject({
      conclusion: "success",
      pull_request: { number: 2, diff_stat: { files: 1, added: 1, removed: 1 } },
      head_as_tested: true,
      tests: { before: { exit_code: 1 }, after: { exit_code: 0 } },
      trace: { whole: true },
      ledger: { verified: true },
    });
    const published = report.actions.filter(({ state }) => state === "succeeded").map(({ tool }) => tool);
    expect(published).toEqual(expect.arrayContaining(["push_commit", "set_check_run", "open_pull_request"]));
    expect(report.actions).toContainEqual(expect.objectContaining({ tool: "create_file", state: "denied" }));
    expect(report.phases.map(({ name }) => name)).toEqual([
      ...["start", "label to run", "prepare", "verify before", "work", "verify after", "publish", "settle"],
    ]);
  });

  it("shows its pages until Ctrl-C, and leaves nothing but its record", () => {
    expect(page).toContain("src/hours.js");
    expect(runsPage).toContain(report.run_id);
    expect(demoFolders()).toEqual([home]);
    expectNothingRuns();
  });

  it("leaves its record for the commands that it names", async () => {
    const at = { COUNTERSIGN_HOME: home };
    const argv = ["audit", "find", "--run", report.run_id, "--tool", "push_commit", "--json"];
    const found = await countersign.inProcess(argv, at);
    const verified = readJson(Verified, await countersign.inProcess(["audit", "verify", "--json"], at));
    const replayed = await countersign.inProcess(["policy", "replay", "--since", "1d", "--json"], at);
    const explained = await explainAll(home);

    expect(found.exitCode, found.stderr).toBe(0);
    expect(JSON.parse(found.stdout)).toMatchObject([{ tool: "push_commit", state: "succeeded" }]);
    expect(verified).toMatchObject({ ok: true });
    expect(replayed.exitCode, replayed.stderr).toBe(0);
    const { reproduced, ...others } = ReplayCounts.parse(JSON.parse(replayed.stdout));
    expect(others).toEqual({ different: 0, erased: 0, unreadable: 0 });
    expect(reproduced).toBeGreaterThan(10);
    expect(explained).toEqual(Array.from({ length: reproduced }, () => ({ exitCode: 0, result: "reproduced" })));
    expectNothingRuns();
  });
});
