import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
  type SampleRepository,
  type ScriptedModel,
  startScriptedModel,
  writeSampleRepository,
} from "../../src/demo/index.ts";
import { askModel, converse } from "../support/chat-client.ts";
import { createToolExecutor, type ToolExecutor } from "../support/tool-executor.ts";

/** git and test runs take their time on a busy machine. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;
let sample: SampleRepository;
let model: ScriptedModel;
/** The copy of the sample that one test works on. */
let copy: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-wrong-"));
  sample = await writeSampleRepository(join(folder, "sample"), AbortSignal.timeout(60_000));
  model = await startScriptedModel({ clock: () => 0 });
});

beforeEach(async () => {
  copy = await mkdtemp(join(folder, "copy-"));
  for (const part of ["src", "test"]) await cp(join(sample.folder, part), join(copy, part), { recursive: true });
});

afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A result of one tool, falsified; the tests themselves are not run, they fail by word. */
type Falsify = (answer: string) => string;

const failing = "failed: exit code 1\nat TestContext.<anonymous> (test/hours.test.js:17:10)";

function falsified(tool: string, falsify: Falsify): ToolExecutor {
  const execute = createToolExecutor(copy, []);
  return async (called, rawArguments) => {
    const answer = called === "run_tests" ? failing : await execute(called, rawArguments);
    return called === tool ? falsify(answer) : answer;
  };
}

const moveLines: Falsify = (answer) => answer.replace(/^\d+(?=[\t:])/gm, (number) => `${Number(number) + 1}`);

const falsifications: readonly (readonly [string, string, Falsify, RegExp])[] = [
  ["the tests pass from the start", "run_tests", () => "ok: exit code 0", /tests pass before any change/],
  ["the tests were refused", "run_tests", () => "refused: no_test_command: none", /tests were not run/],
  ["the header has no status", "run_tests", () => "exit code 1", /tests were not run/],
  ["a workflow may be written", "create_file", () => "ok: created", /not denied by policy/],
  [
    "a workflow is refused for another reason",
    "create_file",
    () => "refused: already_exists: there",
    /not denied by policy/,
  ],
  ["a search fails", "search_text", () => "failed: bad_pattern: no", /search went wrong/],
  [
    "a search shows lines that don't match",
    "search_text",
    () => "ok: 1 match\nsrc/a.js\n3\tnothing",
    /lines that don't match/,
  ],
  ["a search finds nothing", "search_text", () => "empty: no match", /led to a function/],
  ["a search gives another line", "search_text", moveLines, /disagree on line/],
  ["words pass as a number", "read_file", () => "ok: a window", /number in words was not refused/],
  ["a window begins at another line", "read_file", moveLines, /disagree on line/],
  ["a window leaves a line out", "read_file", (answer) => answer.replace(/^9\t.*\n/m, ""), /disagree on line/],
  ["a window shows other text", "read_file", (answer) => answer.replaceAll("fitsInto", "fitsOnto"), /disagree on line/],
  [
    "an indentation is lost",
    "read_file",
    (answer) => answer.replace(/\t +/g, "\t"),
    /refused|nothing that I could change/,
  ],
  ["an ambiguous anchor is taken", "edit_file", () => "ok: edited", /not refused as ambiguous/],
  ["an edit's answer shows another line", "edit_file", moveLines, /doesn't show it/],
  [
    "an exact anchor is not found",
    "edit_file",
    (answer) => answer.replace(/^ok: .*/s, "refused: anchor_not_found: x"),
    /exact anchor was refused/,
  ],
];

test.each(falsifications)("gives up, and says why, when %s", async (_, tool, falsify, reason) => {
  const end = await converse(model.baseUrl, sample.issue, falsified(tool, falsify));

  expect(end.lastText).toMatch(/^I can't go on: /);
  expect(end.lastText).toMatch(reason);
  expect(end.exchanges.map((exchange) => exchange.tool)).not.toContain("finish");
});

test("stays with it when it is asked to go on", async () => {
  const end = await converse(
    model.baseUrl,
    sample.issue,
    falsified("create_file", () => "ok: created"),
  );

  const answer = await askModel(model.baseUrl, [...end.messages, { role: "user", content: "Please call a tool." }]);

  expect(answer.content).toBe(end.lastText);
});

test("gives up when no change of the function helps", async () => {
  const end = await converse(
    model.baseUrl,
    sample.issue,
    falsified("run_tests", (answer) => answer),
  );

  expect(end.lastText).toMatch(/none of \d+ changes of the function made the tests pass/);
});
