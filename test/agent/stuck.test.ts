import { describe, expect, test } from "vitest";
import { type ModelResponse, type PlacedCall, stopReasonOf } from "../../src/agent/index.ts";
import type { ActionOutcome } from "../../src/domain/index.ts";
import {
  aLoop,
  anAnswer,
  anOutcome,
  changedOutcome,
  lastAnswers,
  refusedOutcome,
  type Script,
  type WrittenCall,
} from "../support/loop.ts";

type Perform = (call: PlacedCall) => ActionOutcome;

/** Plays the script and tells in which turns the model was nudged with this text, and how the loop ended. */
async function play(script: Script, perform: Perform, nudge: string, treeFingerprint?: () => Promise<string>) {
  const loop = aLoop(script, {
    perform: (call) => Promise.resolve(perform(call)),
    ...(treeFingerprint === undefined ? {} : { treeFingerprint }),
  });
  const end = await loop.run().catch((error: Error) => error.message);
  const nudgedTurns = loop.requests.flatMap((request, turn) =>
    lastAnswers(request).join("\n").includes(nudge) ? [turn] : [],
  );
  return { end, nudgedTurns, turns: loop.turns.length };
}

const repeat = (count: number, ...answers: ModelResponse[]): ModelResponse[] =>
  Array.from({ length: count }, (_, turn) => answers[turn % answers.length]).filter((answer) => answer !== undefined);
const turnOf = (...calls: WrittenCall[]): ModelResponse => anAnswer(calls);
const command = (text: string): ModelResponse => turnOf(["run_command", { command: text }]);
const fresh = (count: number): ModelResponse[] =>
  Array.from({ length: count }, (_, turn) => turnOf(["read_file", { path: `f${turn}` }]));
const outOfScript = "the script has no more answers";

describe("the same call with the same result", () => {
  test("is nudged at the third and stopped at the fifth", async () => {
    const { end, nudgedTurns, turns } = await play(
      repeat(9, command("x")),
      (call) => anOutcome(call),
      "in a row. Do something else",
    );

    expect(end).toEqual({ kind: "stuck", rule: "the same call with the same result" });
    expect(nudgedTurns).toEqual([3]);
    expect(turns).toBe(5);
  });

  test("is the same although its duration, its page and its action differ", async () => {
    let count = 0;
    const perform: Perform = (call) => {
      count += 1;
      const outcome = anOutcome(call);
      return { ...outcome, text: `failed: exit 1 after ${count * 13} ms, ${outcome.actionId}\nsee out:${count}` };
    };

    expect((await play(repeat(9, command("x")), perform, "?")).turns).toBe(5);
  });

  test("is no repetition once the tree has changed", async () => {
    let tree = 0;
    const perform: Perform = (call) => changedOutcome(call, "a", `content ${tree}`);

    const { end } = await play(repeat(9, command("x")), perform, "?", () => Promise.resolve(`tree ${++tree}`));

    expect(end).toBe(outOfScript);
  });

  test("is no repetition where the result differs", async () => {
    let count = 0;
    const perform: Perform = (call) => anOutcome(call, { text: `line ${++count}` });

    expect((await play(repeat(9, command("x")), perform, "in a row. Do")).end).toBe(outOfScript);
  });

  test("many times in one turn is nudged first: the model has not read the answers yet", async () => {
    const six = turnOf(...Array.from({ length: 6 }, (): WrittenCall => ["run_command", { command: "x" }]));

    const { nudgedTurns, turns } = await play(
      [six, six, six],
      (call) => anOutcome(call),
      "in a row. Do something else",
    );

    expect(nudgedTurns).toEqual([1]);
    expect(turns).toBe(2);
  });
});

test.each([2, 3, 4])("a circle of %i calls is nudged after 3 rounds and stopped after 5", async (period) => {
  const circle = Array.from({ length: period }, (_, step) => command(`step ${step}`));

  const { end, nudgedTurns, turns } = await play(repeat(30, ...circle), (call) => anOutcome(call), "go round");

  expect(end).toEqual({ kind: "stuck", rule: "the same calls in a circle" });
  expect(nudgedTurns).toEqual([3 * period]);
  expect(turns).toBe(5 * period);
});

test("a file that comes back to what it was is nudged the second time and stopped the fourth", async () => {
  let count = 0;
  const perform: Perform = (call) => changedOutcome(call, "a", ++count % 2 === 1 ? "A" : "B");
  const treeFingerprint = () => Promise.resolve(`tree ${count}`);

  const script = Array.from({ length: 12 }, (_, turn) => turnOf(["edit_file", { path: "a", turn }]));
  const { end, nudgedTurns, turns } = await play(
    script,
    perform,
    "come back to an earlier content 2 times",
    treeFingerprint,
  );

  expect(end).toEqual({ kind: "stuck", rule: "a file changed to and fro" });
  expect(nudgedTurns).toEqual([4]);
  expect(turns).toBe(6);
});

describe("refused edits of one file", () => {
  const edit = (turn: number) => turnOf(["edit_file", { path: "a", edits: [turn] }]);
  const edits = Array.from({ length: 12 }, (_, turn) => edit(turn));
  const refuseEdits: Perform = (call) =>
    call.name === "edit_file" ? refusedOutcome(call, "anchor_not_found") : anOutcome(call);

  test("are nudged at the fourth, then need a reading, and are stopped at the eighth", async () => {
    const performed: string[] = [];
    const perform: Perform = (call) => {
      performed.push(call.name);
      return refuseEdits(call);
    };

    const { end, nudgedTurns, turns } = await play(edits, perform, "4 edits of `a` were refused in a row");

    expect(end).toEqual({ kind: "stuck", rule: "refused edits of one file" });
    expect(nudgedTurns).toEqual([4]);
    expect(turns).toBe(8);
    expect(performed).toHaveLength(4);
  });

  test("are taken up again after a reading of that file", async () => {
    const performed: string[] = [];
    const perform: Perform = (call) => {
      performed.push(call.name);
      return performed.length > 5 ? anOutcome(call) : refuseEdits(call);
    };
    const script = [...edits.slice(0, 4), turnOf(["read_file", { path: "a" }]), ...edits.slice(4, 10)];

    const { end } = await play(script, perform, "?");

    expect(performed.slice(3, 7)).toEqual(["edit_file", "read_file", "edit_file", "edit_file"]);
    expect(end).toBe(outOfScript);
  });
});

describe("turns that bring nothing new", () => {
  const commands = Array.from({ length: 30 }, (_, turn) => command(`echo ${turn}`));

  test("are nudged at the twelfth and stopped at the twenty-fourth", async () => {
    const { end, nudgedTurns, turns } = await play(commands, (call) => anOutcome(call), "12 turns brought nothing new");

    expect(end).toEqual({ kind: "stuck", rule: "turns without anything new" });
    expect(nudgedTurns).toEqual([12]);
    expect(turns).toBe(24);
  });

  test.each([
    { what: "new lines read", name: "read_file", outcome: (call: PlacedCall) => anOutcome(call) },
    { what: "a changed file", name: "edit_file", outcome: (call: PlacedCall) => changedOutcome(call, "a", "new") },
    {
      what: "another test result",
      name: "run_tests",
      outcome: (call: PlacedCall) => anOutcome(call, { status: "failed" }),
    },
  ])("are counted from the start again after $what", async ({ name, outcome }) => {
    const script = [...commands.slice(0, 20), turnOf([name, { path: "a" }]), ...commands.slice(20, 30)];
    const perform: Perform = (call) => (call.name === name ? outcome(call) : anOutcome(call));

    expect((await play(script, perform, "?")).end).toBe(outOfScript);
  });
});

describe("calls that can't be read", () => {
  test.each([
    { what: "unknown", call: ["frobnicate", {}] as const, code: "unknown_tool" as const },
    { what: "malformed", call: ["read_file", '{"path" 1}'] as const, code: "invalid_arguments" as const },
    { what: "truncated", call: ["read_file", '{"path":"a'] as const, code: "truncated_call" as const },
  ])("$what are nudged each time, and three in a row end the loop", async ({ call, code }) => {
    const perform: Perform = (placed) => refusedOutcome(placed, code);

    const { end, nudgedTurns, turns } = await play(repeat(9, turnOf(call)), perform, "could not be read");

    expect(end).toEqual({ kind: "format_errors" });
    expect(nudgedTurns).toEqual([1, 2]);
    expect(turns).toBe(3);
  });

  test("are counted from the start again after one that can", async () => {
    const perform: Perform = (call) =>
      call.name === "frobnicate" ? refusedOutcome(call, "unknown_tool") : anOutcome(call);
    const script = fresh(12).flatMap((answer) => [turnOf(["frobnicate", {}]), answer]);

    expect((await play(script, perform, "?")).end).toBe(outOfScript);
  });
});

test("commands that time out are nudged at the second and stopped at the third, readings between them or not", async () => {
  const perform: Perform = (call) =>
    call.name === "run_command" ? refusedOutcome(call, "timed_out") : anOutcome(call);
  const script = fresh(9).flatMap((answer, turn) => [command(`sleep ${turn}`), answer]);

  const { end, nudgedTurns, turns } = await play(script, perform, "2 commands in a row timed out");

  expect(end).toEqual({ kind: "stuck", rule: "commands that time out" });
  expect(nudgedTurns).toEqual([3]);
  expect(turns).toBe(5);
});

test("a loop that is stuck is told to people as stuck, or as format errors", () => {
  expect(stopReasonOf({ kind: "stuck", rule: "r" })).toBe("stuck");
  expect(stopReasonOf({ kind: "format_errors" })).toBe("format_errors");
});
