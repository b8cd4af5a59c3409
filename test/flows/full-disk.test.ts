import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { RunReport, readJson } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let countersign: Countersign;

afterEach(() => countersign[Symbol.asyncDispose]());

/** The command with a small disk of its own as home: it goes with the command's last process. */
async function runOnDisk(megabytes: number, moves: readonly Move[]) {
  const { folder, home } = countersign;
  mkdirSync(home);
  const repository = await writeTinyRepository(join(folder, "tiny"), { ".gitignore": "filler\n" });
  writeFileSync(join(folder, "issue.md"), "# Write a note\n");
  await using model = await startPlannedModel(moves);
  const size = String(megabytes * 1024 ** 2);
  const disk = ["bwrap", "--dev-bind", "/", "/", "--size", size, "--tmpfs", home];
  const within = process.getuid?.() === 0 ? [...disk, "--cap-add", "ALL"] : disk;
  const environment = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
  return await countersign.start(["run", "--repo", repository, "--issue", "issue.md", "--json"], environment, within)
    .ended;
}

const note = call("create_file", { path: "note.txt", content: "kept\n" });
const fill = call("run_command", { command: "cat /dev/zero > filler; true" });
const second = call("create_file", { path: "second.txt", content: "x".repeat(100_000) });

describe("a disk that is full at the start", () => {
  beforeEach(async () => {
    countersign = await openCountersign("shared");
  });

  it("ends the command with one line", async () => {
    const ended = await runOnDisk(20, [finish]);

    expect(ended).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^countersign: .*free space on the disk of `COUNTERSIGN_HOME`.*\[DISK_FULL\]\n$/);
  });
});

describe("a disk that is filled in the middle of the work", () => {
  it("ends the run with its cause, and the patch so far is kept where the database is elsewhere", async () => {
    countersign = await openCountersign("shared");

    const ended = await runOnDisk(400, [note, fill, second, finish]);
    const report = readJson(RunReport, ended);

    expect(report.patch).toContain("+kept");
    expect(report.conclusion).not.toBe("success");
    expect(await countersign.command(["runs", "patch", report.run_id])).toMatchObject({ stdout: report.patch });
  });

  it("leaves the patch in a file, and says where, when the embedded database has no room either", async () => {
    countersign = await openCountersign("own");

    const ended = await runOnDisk(500, [note, fill, second, finish]);

    expect(ended.exitCode, ended.stderr).toBe(1);
    const place = /the patch of run `\S+` is in `([^`]+)`/.exec(ended.stderr)?.[1] ?? "";
    expect(place, ended.stderr).not.toBe("");
    expect(existsSync(place), ended.stderr).toBe(true);
    expect(readFileSync(place, "utf8")).toContain("+kept");
    rmSync(place);
  });
});
