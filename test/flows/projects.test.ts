import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../src/demo/index.ts";
import { writeBigRepository } from "../support/big-repository.ts";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { testsOnPatchedClone } from "../support/patched-clone.ts";
import { writeMakeProject, writeUnittestProject } from "../support/projects.ts";
import { RunReport, readJson } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

/** Printed in the test's name: a failure can be repeated by setting it here. */
const seed = Date.now() % 1_000_000;
const never = new AbortController().signal;

let countersign: Countersign;
let model: ScriptedModel;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  model = await startScriptedModel({ clock: Date.now });
});

afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

type Written = {
  readonly folder: string;
  readonly issue: string;
  readonly testCommand: readonly string[];
  readonly brokenFile: string;
};

const bigRepository = async (folder: string): Promise<Written> => {
  const big = await writeBigRepository(folder, { seed, where: "biggest_file" }, never);
  expect(big.fileCount).toBeGreaterThanOrEqual(1000);
  expect(big.biggestFile.lineCount).toBeGreaterThan(5000);
  const [, ...rest] = big.testCommand;
  return {
    folder,
    issue: big.issueText,
    testCommand: [process.execPath, ...rest.slice(0, -1)],
    brokenFile: big.planted.file,
  };
};

it.each<[string, (folder: string) => Promise<Written>]>([
  [`a repository of more than 1,000 files with a bug of seed ${seed} in a file of over 5,000 lines`, bigRepository],
  ["a project tested by a make target", (folder) => writeMakeProject(folder, never)],
  ["a project tested by Python's unittest", (folder) => writeUnittestProject(folder, never)],
])("finds and fixes the bug in %s", async (name, write) => {
  const place = join(countersign.folder, name.replaceAll(/\W+/g, "-"));
  mkdirSync(place);
  const { folder, issue, testCommand, brokenFile } = await write(join(place, "repository"));
  writeFileSync(join(place, "issue.md"), issue);

  const ended = await countersign.inProcess(["run", "--repo", folder, "--issue", join(place, "issue.md"), "--json"], {
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_MODEL: model.model,
  });
  const report = readJson(RunReport, ended);

  expect(report, ended.stderr).toMatchObject({ conclusion: "success", left_out: [], ledger: { verified: true } });
  expect(report.patch.match(/^diff --git .*$/gm)).toEqual([`diff --git a/${brokenFile} b/${brokenFile}`]);
  expect(testsOnPatchedClone(folder, report.patch, testCommand, place)).toBe(0);
});
