import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type Countersign,
  mountsOf,
  namesIn,
  openCountersign,
  processesOf,
  type Running,
} from "../support/countersign.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { AuditedRun, ListedRuns, readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 240_000 });

let countersign: Countersign;
let quick: string;
let slow: string;

beforeAll(async () => {
  countersign = await openCountersign("own");
  quick = await writeTinyRepository(join(countersign.folder, "quick"));
  slow = await writeTinyRepository(join(countersign.folder, "slow"), {
    ".github/countersign.yml": "version: 1\nverify: { run: sleep 601, timeout_s: 600 }\n",
  });
  writeFileSync(join(countersign.folder, "issue.md"), "# Write a note\n");
  // Makes the cluster, so that no test's time holds it.
  expect(await countersign.command(["runs", "list"])).toMatchObject({ exitCode: 0, stdout: "no runs yet\n" });
});

afterAll(() => countersign[Symbol.asyncDispose]());

const note = call("create_file", { path: "note.txt", content: "kept\n" });

/** A run that is under way, with a model that does these things. */
async function startRun(
  repository: string,
  moves: readonly Move[],
  onRequest: (number: number) => void = () => undefined,
) {
  const model = await startPlannedModel(moves, onRequest);
  const environment = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
  const running = countersign.start(["run", "--repo", repository, "--issue", "issue.md", "--json"], environment);
  void running.ended.finally(() => model[Symbol.asyncDispose]());
  return running;
}

/** Whether a process with exactly these arguments runs anywhere on this machine. */
function isRunning(...argv: readonly string[]): boolean {
  return namesIn("/proc").some((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8") === argv.map((word) => `${word}\0`).join("");
    } catch {
      return false;
    }
  });
}

const untilRunning = (...argv: readonly string[]): Promise<void> =>
  vi.waitFor(() => expect(isRunning(...argv)).toBe(true), { timeout: 150_000, interval: 100 });

/** Nothing of ours is left: no process, mount, work folder, claim or registration, and the database is stopped. */
function expectNothingLeft(): void {
  const { home } = countersign;
  expect(processesOf(home)).toEqual([]);
  expect(mountsOf(home)).toEqual([]);
  expect(namesIn(home, "work")).toEqual([]);
  expect(namesIn(home, "locks")).toEqual([]);
  expect(namesIn(home, "processes").filter((name) => name.endsWith(".json"))).toEqual([]);
  const held = namesIn(home, "processes").filter((name) => name.startsWith("database.lock"));
  expect(held.map((name) => readFileSync(join(home, "processes", name), "utf8"))).toEqual(['{"holder":null}']);
}

async function runs(): Promise<readonly { run_id: string; status: string; conclusion: string | null }[]> {
  return readJson(ListedRuns, await countersign.inProcess(["runs", "list", "--json"]));
}

type Moment = { readonly name: string; readonly start: () => Promise<Running>; readonly patch: string };

const moments: readonly Moment[] = [
  {
    name: "while the tests run before the work",
    patch: "",
    start: async () => {
      const running = await startRun(slow, [finish]);
      await Promise.race([untilRunning("sleep", "601"), running.line(/never/)]);
      return running;
    },
  },
  {
    name: "while the model is asked",
    patch: "+kept",
    start: async () => {
      const asked = Promise.withResolvers<void>();
      const running = await startRun(quick, [note, { kind: "hang" }], (number) => number === 1 && asked.resolve());
      await Promise.race([asked.promise, running.line(/never/)]);
      return running;
    },
  },
  {
    name: "while a command runs in the sandbox",
    patch: "+kept",
    start: async () => {
      const running = await startRun(quick, [note, call("run_command", { command: "sleep 602" }), finish]);
      await Promise.race([untilRunning("sleep", "602"), running.line(/never/)]);
      return running;
    },
  },
];

/** One handler hears both signals: each moment has one of them, and the last, when most is under way, the other too. */
const stopped = [
  ...moments.map((moment) => ({ ...moment, signal: "SIGINT" as const })),
  ...moments.slice(-1).map((moment) => ({ ...moment, signal: "SIGTERM" as const })),
];

describe("a signal", () => {
  it.each(stopped)("$signal $name ends the run as cancelled, keeps its patch and leaves nothing", async (asked) => {
    const { signal, start, patch } = asked;
    const running = await start();

    running.kill(signal);
    const ended = await running.ended;

    expect(ended, ended.stderr).toMatchObject({ exitCode: 1, signal: null });
    expectNothingLeft();
    const [run] = await runs();
    expect(run).toMatchObject({ status: "completed", conclusion: "cancelled" });
    const kept = await countersign.inProcess(["runs", "patch", run?.run_id ?? ""]);
    expect(kept.stdout).toContain(patch);
    expect(kept.exitCode).toBe(patch === "" ? 1 : 0);
  });

  it("SIGTERM while the run is settled comes too late to change its end", async () => {
    const running = await startRun(quick, [note, finish]);
    await running.line(/^-- settle/);

    running.kill("SIGTERM");
    const ended = await running.ended;

    expect(ended, ended.stderr).toMatchObject({ exitCode: 0, signal: null });
    expectNothingLeft();
    const [run] = await runs();
    expect(run).toMatchObject({ status: "completed", conclusion: "success" });
  });
});

describe("SIGKILL in the middle of a sandboxed command", () => {
  it("leaves nothing that the next start does not name, remove and settle", async () => {
    const killed = await startRun(quick, [note, call("run_command", { command: "sleep 603" }), finish]);
    await Promise.race([untilRunning("sleep", "603"), killed.line(/never/)]);

    killed.kill("SIGKILL");
    await killed.ended;
    await vi.waitFor(() => expect(isRunning("sleep", "603")).toBe(false), { timeout: 10_000, interval: 20 });
    const interrupted = /^run (\S+) on quick/m.exec((await killed.ended).stderr)?.[1] ?? "";
    const next = await (await startRun(quick, [finish])).ended;

    expect(next.stderr).toMatch(/^countersign: removed .*\/work\/\S+ that a killed process had left$/m);
    expect(next.stderr).toMatch(
      /^countersign: ended the embedded database server \(pid \d+\) that a killed process had left$/m,
    );
    expect(next.stderr).toContain(
      `countersign: run ${interrupted} had been interrupted and is settled (1 open actions); its patch: countersign runs patch ${interrupted}\n`,
    );
    expectNothingLeft();
    const shown = readJson(AuditedRun, await countersign.inProcess(["audit", "show", interrupted, "--json"]));
    expect(shown.actions.map(({ tool, state, event }) => [tool, state, event.outcome])).toEqual([
      ["run_verification", "succeeded", "ok"],
      ["create_file", "succeeded", "ok"],
      ["run_command", "reconciled_not_applied", "error:not_applied"],
    ]);
    expect(readJson(Verified, await countersign.inProcess(["audit", "verify", "--json"]))).toMatchObject({ ok: true });
    const kept = await countersign.inProcess(["runs", "patch", interrupted]);
    expect(kept.stdout).toContain("+kept");
  });
});
