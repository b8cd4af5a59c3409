import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { converse } from "../support/chat-client.ts";
import { createToolExecutor } from "../support/tool-executor.ts";

let folder: string;
let model: ScriptedModel;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "solver-"));
  model = await startScriptedModel({ clock: () => 0 });
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test("mends the sample repository", async ({ signal }) => {
  const sample = await writeSampleRepository(join(folder, "r"), signal);

  const end = await converse(model.baseUrl, sample.issue, createToolExecutor(sample.folder, ["node", "--test"]));

  expect(end.exchanges.at(-1)?.tool).toBe("finish");
});
