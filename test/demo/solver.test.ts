import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { type BigRepository, writeBigRepository } from "../support/big-repository.ts";
import { type Conversation, converse } from "../support/chat-client.ts";
import { type Project, writeMakeProject, writeUnittestProject } from "../support/projects.ts";
import { createToolExecutor } from "../support/tool-executor.ts";

const limitMs = 90_000;
let folder: string;
let model: ScriptedModel;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-solver-"));
  model = await startScriptedModel({ clock: () => 0 });
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Each tool that was refused, with the code. */
const refusals = ({ exchanges }: Conversation): readonly string[] =>
  exchanges.flatMap(({ tool, answer }) => {
    const code = /^refused: (\w+)/.exec(answer)?.[1];
    return code === undefined ? [] : [`${tool} ${code}`];
  });

const editedFiles = ({ exchanges }: Conversation): readonly unknown[] => [
  ...new Set(exchanges.filter(({ tool }) => tool === "edit_file").map((exchange) => exchange.arguments.path)),
];

const lastTests = ({ exchanges }: Conversation): string =>
  exchanges.findLast(({ tool }) => tool === "run_tests")?.answer.split("\n")[0] ?? "";

test(
  "mends the sample repository after three mistakes that are refused for their own reasons",
  async ({ signal }) => {
    const sample = await writeSampleRepository(join(folder, "sample"), signal);

    const end = await converse(
      model.baseUrl,
      sample.issue,
      createToolExecutor(sample.folder, ["node", "--test", "--test-isolation=none"]),
    );

    expect(refusals(end)).toEqual([
      "create_file policy_denied",
      "read_file invalid_arguments",
      "edit_file anchor_ambiguous",
    ]);
    expect(lastTests(end)).toMatch(/^ok: /);
    expect(editedFiles(end)).toEqual(["src/hours.js"]);
    expect(end.exchanges.at(-1)?.tool).toBe("finish");
    expect(await readFile(join(sample.folder, "src/hours.js"), "utf8")).toContain("to <= toMinutes(span.to)");
  },
  limitMs,
);

test.each<[string, (into: string, signal: AbortSignal) => Promise<Project>]>([
  ["make", writeMakeProject],
  ["unittest", writeUnittestProject],
])(
  "mends a project tested by %s from an issue that names no function",
  async (_, write) => {
    const project = await write(join(folder, "project"), AbortSignal.timeout(limitMs));

    const end = await converse(model.baseUrl, project.issue, createToolExecutor(project.folder, project.testCommand));

    expect(end.lastText).toBe("The tests pass now.");
    expect(lastTests(end)).toMatch(/^ok: /);
    expect(editedFiles(end)).toEqual([project.brokenFile]);
    expect(end.exchanges.at(-1)?.tool).toBe("finish");
  },
  limitMs,
);

/** One seed that stays and a new one each time, printed in the name of its test. */
const seeds = [7, Math.floor(Math.random() * 1_000_000)];

test.each(seeds)(
  "finds a bug planted at random among more than 1,000 files, seed %i",
  async (seed) => {
    const signal = AbortSignal.timeout(limitMs);
    const big = await writeBigRepository(join(folder, "big"), { seed, where: "anywhere" }, signal);

    const end = await converse(model.baseUrl, big.issueText, createToolExecutor(big.folder, big.testCommand));

    expectMended(big, end);
  },
  limitMs,
);

test(
  "finds a bug in a file of more than 5,000 lines through search and one window",
  async () => {
    const seed = Math.floor(Math.random() * 1_000_000);
    const signal = AbortSignal.timeout(limitMs);
    const big = await writeBigRepository(join(folder, "big"), { seed, where: "biggest_file" }, signal);

    const end = await converse(model.baseUrl, big.issueText, createToolExecutor(big.folder, big.testCommand));

    expectMended(big, end);
    expect(big.planted.file, `seed ${seed}`).toBe(big.biggestFile.path);
  },
  limitMs,
);

test(
  "makes one call a turn where the client asks for that",
  async ({ signal }) => {
    const sample = await writeSampleRepository(join(folder, "sample"), signal);
    const execute = createToolExecutor(sample.folder, ["node", "--test", "--test-isolation=none"]);

    const end = await converse(model.baseUrl, sample.issue, execute, { parallel_tool_calls: false });

    expect(end.exchanges.at(-1)?.tool).toBe("finish");
    const counts = end.messages.flatMap((message) =>
      message.role === "assistant" ? [message.tool_calls?.length] : [],
    );
    expect(new Set(counts)).toEqual(new Set([1]));
  },
  limitMs,
);

function expectMended(big: BigRepository, end: Conversation): void {
  const label = `seed ${big.seed}`;
  expect(big.fileCount, label).toBeGreaterThanOrEqual(1_000);
  expect(big.biggestFile.lineCount, label).toBeGreaterThan(5_000);
  expect(end.lastText, label).toBe("The tests pass now.");
  expect(lastTests(end), label).toMatch(/^ok: /);
  expect(editedFiles(end), label).toEqual([big.planted.file]);
  expect(end.exchanges.at(-1)?.tool, label).toBe("finish");
}
