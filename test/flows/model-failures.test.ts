import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { call, finish, type Move, startPlannedModel } from "../support/planned-model.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { RunReport, readJson } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

/** Long enough for a busy machine to answer, short enough to wait for. */
const silenceMs = 3_000;

let countersign: Countersign;
let repository: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  repository = await writeTinyRepository(join(countersign.folder, "tiny"));
  writeFileSync(join(countersign.folder, "issue.md"), "# Write a note\n");
});

afterAll(() => countersign[Symbol.asyncDispose]());

const note = call("create_file", { path: "note.txt", content: "kept\n" });

describe("a model server that fails in the middle of the work", () => {
  it.each<[string, Move, RegExp]>([
    ["refuses the key", { kind: "status", status: 401, message: "wrong key" }, /answered 401 .*OPENAI_API_KEY/],
    [
      "does not know the model",
      { kind: "status", status: 404, message: "no such model" },
      /answered 404 .*OPENAI_MODEL/,
    ],
    ["has a fault of its own", { kind: "status", status: 500, message: "broken" }, /answered 500 .*after 4 attempts/],
    ["cuts the connection", { kind: "cut" }, /no answer from the model server/],
    ["falls silent", { kind: "hang" }, /sent nothing for 3 s/],
  ])("that %s ends the run with its cause, and the patch so far is kept", async (_, move, cause) => {
    await using model = await startPlannedModel([note, move]);

    const report = await runInProcess(countersign, { repository, baseUrl: model.baseUrl, silenceMs });

    expect(report).toMatchObject({
      conclusion: "failure",
      stopReason: "model_unavailable",
      ledger: { verified: true },
    });
    expect(report.cause).toMatch(cause);
    expect(report.cause).not.toContain("\n");
    expect(report.patch).toContain("+kept");
    const printed = await countersign.inProcess(["runs", "patch", report.runId]);
    expect(printed).toMatchObject({ exitCode: 0, stdout: report.patch });
  });

  it("that is not there at all is named with its address", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    const { port } = await new Promise<AddressInfo>((at) =>
      server.once("listening", () => at(server.address() as AddressInfo)),
    );
    await new Promise((closed) => server.close(closed));

    const report = await runInProcess(countersign, {
      repository,
      baseUrl: `http://127.0.0.1:${port}/v1`,
      silenceMs,
    });

    expect(report).toMatchObject({ conclusion: "failure", patch: "", patchKept: null });
    expect(report.cause).toContain(`127.0.0.1:${port}`);
    expect(report.cause).toContain("OPENAI_BASE_URL");
  });

  it("is told by the command in one line and with exit code 1", async () => {
    await using model = await startPlannedModel([note, { kind: "status", status: 401, message: "wrong key" }]);

    const ended = await countersign.command(["run", "--repo", repository, "--issue", "issue.md", "--json"], {
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_MODEL: "planned",
      OPENAI_API_KEY: "sk-not-to-be-shown",
    });

    expect(ended.exitCode).toBe(1);
    expect(readJson(RunReport, ended)).toMatchObject({ conclusion: "failure" });
    expect(ended.stdout + ended.stderr).not.toContain("sk-not-to-be-shown");
  });
});

describe("any other OpenAI-compatible server", () => {
  it("that answers in one piece although a stream was asked for does the work as well", async () => {
    const whole = (one: typeof note): Move => ({ kind: "whole", call: one });
    await using model = await startPlannedModel([whole(note), whole(finish)]);

    const report = await runInProcess(countersign, { repository, baseUrl: model.baseUrl, silenceMs });

    expect(report).toMatchObject({ conclusion: "success", tokens: { input: 200, output: 20 } });
  });
});
