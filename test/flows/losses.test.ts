import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Countersign, databaseServers, openCountersign, processesOf } from "../support/countersign.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { RunReport, readJson } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let countersign: Countersign;

afterEach(() => countersign[Symbol.asyncDispose]());

/** The command with a small disk of its own as home: it goes with the command's last process. */
async function runOnDisk(
  megabytes: number,
  moves: readonly Move[],
  onRequest: (number: number) => void = () => undefined,
) {
  const { folder, home } = countersign;
  mkdirSync(home, { recursive: true }); // what is linked there already, the disk hides
  const repository = await writeTinyRepository(join(folder, "tiny"));
  writeFileSync(join(folder, "issue.md"), "# Write a note\n");
  await using model = await startPlannedModel(moves, onRequest);
  const size = String(megabytes * 1024 ** 2);
  const disk = ["bwrap", "--dev-bind", "/", "/", "--size", size, "--tmpfs", home];
  const within = process.getuid?.() === 0 ? [...disk, "--cap-add", "ALL"] : disk;
  const environment = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
  return await countersign.start(["run", "--repo", repository, "--issue", "issue.md", "--json"], environment, within)
    .ended;
}

/** Fills that disk to its last byte, from outside. */
function fillDisk(): void {
  const inside = processesOf(countersign.folder).find(({ command }) => /^\S*node .* run --repo /.test(command));
  const filler = `/proc/${inside?.pid}/root${countersign.home}/filler`;
  for (const sizeBytes of [1024 * 1024, 4096, 1]) while (hasRoom(filler, sizeBytes));
}

function hasRoom(path: string, sizeBytes: number): boolean {
  try {
    appendFileSync(path, new Uint8Array(sizeBytes));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}

const note = call("create_file", { path: "note.txt", content: "kept\n" });
const second = call("create_file", { path: "second.txt", content: "x".repeat(20_000) });

describe("a disk that is full at the start", () => {
  beforeEach(async () => {
    countersign = await openCountersign("shared");
  });

  it("ends the command with one line", async () => {
    const ended = await runOnDisk(20, [finish]);

    expect(ended).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^countersign: .*free space on the disk of `COUNTERSIGN_HOME`.*\[DISK_FULL\]\n$/m);
  });
});

describe.each(["shared", "own"] as const)(
  "a disk that is filled in the middle of the work, with its %s database",
  (kind) => {
    it("ends the run with its cause, and the patch so far is kept", async () => {
      countersign = await openCountersign(kind);

      const ended = await runOnDisk(700, [note, second, finish], (number) => number === 1 && fillDisk());
      const report = readJson(RunReport, ended);

      expect(report).toMatchObject({ conclusion: "failure", ledger: { verified: true } });
      expect(report.cause).toMatch(/no space is left|No space left.*free space/i);
      expect(report.patch).toContain("+kept");
      expect(report.patch_kept).toBe(`countersign runs patch ${report.run_id}`);
    });
  },
);

describe("a database that is gone in the middle of the work", () => {
  it("leaves the patch in a file and says where; the next start settles the run", async () => {
    countersign = await openCountersign("own");
    const { folder, home } = countersign;
    const repository = await writeTinyRepository(join(folder, "tiny"));
    writeFileSync(join(folder, "issue.md"), "# Write a note\n");
    const argv = ["run", "--repo", repository, "--issue", "issue.md", "--json"];
    const killDatabase = (number: number): void => {
      if (number === 1) for (const pid of databaseServers(home)) process.kill(pid, "SIGKILL");
    };
    await using failing = await startPlannedModel([note, second, finish], killDatabase);
    await using healthy = await startPlannedModel([finish]);

    const ended = await countersign.command(argv, { OPENAI_BASE_URL: failing.baseUrl, OPENAI_MODEL: "planned" });
    const next = await countersign.command(argv, { OPENAI_BASE_URL: healthy.baseUrl, OPENAI_MODEL: "planned" });

    expect(ended, ended.stderr).toMatchObject({ exitCode: 1, stdout: "" });
    const [, runId = "", place = ""] =
      /^countersign: .*; the patch of run `(\S+)` is in `([^`]+)`; .*\[LEDGER_UNAVAILABLE\]$/m.exec(ended.stderr) ?? [];
    expect(place, ended.stderr).toBe(join(home, "patches", `${runId}.patch`));
    expect(readFileSync(place, "utf8")).toContain("+kept");
    expect(next.stderr).toContain(`countersign: run ${runId} had been interrupted and is settled`);
    expect((await countersign.inProcess(["runs", "patch", runId])).stdout).toBe(readFileSync(place, "utf8"));
  });
});
