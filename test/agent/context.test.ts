import { describe, expect, test } from "vitest";
import { estimateTokens, makeRoom, shorten } from "../../src/agent/context.ts";
import { type Conversation, toModelRequest } from "../../src/agent/conversation.ts";
import { type ModelRequest, type PlacedCall, withTurn } from "../../src/agent/index.ts";
import { takeTurn } from "../../src/agent/take-turn.ts";
import type { ActionOutcome } from "../../src/domain/index.ts";
import { aLoop, anAnswer, anOpening, anOutcome, finish, type WrittenCall } from "../support/loop.ts";

const never = new AbortController().signal;
const long = "x".repeat(2000);
/** The server counts nothing, so the estimate stays as it is. */
const uncounted = { inputTokens: 0, outputTokens: 0, estimated: true };

async function converse(turns: readonly (readonly WrittenCall[])[], perform?: (call: PlacedCall) => ActionOutcome) {
  const { deps } = aLoop([], perform === undefined ? {} : { perform: (call) => Promise.resolve(perform(call)) });
  let conversation: Conversation = anOpening();
  for (const calls of turns) {
    conversation = withTurn(
      conversation,
      await takeTurn(deps, conversation, anAnswer(calls, { usage: uncounted }), never),
    );
  }
  return conversation;
}

const readTurns = (count: number): WrittenCall[][] =>
  Array.from({ length: count }, (_, turn) => [["read_file", { path: `src/f${turn}.ts`, line_from: null }]]);
const longRead = (call: PlacedCall): ActionOutcome => anOutcome(call, { text: `ok ${call.rawArguments}\n${long}` });
const answersIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.kind === "tool" ? [message.content.text] : []));

describe("an epoch", () => {
  test("turns each observation older than the last 5 turns into one line that says how to get it back", async () => {
    const conversation = await converse(readTurns(7), longRead);

    const answers = answersIn(toModelRequest(shorten(conversation, 5), 8192));

    expect(answers[0]).toBe(
      'read_file src/f0.ts: ok, 2041 characters left out to save room; read_file{"path":"src/f0.ts","line_from":null} gets it back',
    );
    expect(answers.map((text) => text.includes(long))).toEqual([false, false, true, true, true, true, true]);
  });

  test("gives the same bytes however often it is repeated", async () => {
    const conversation = await converse(readTurns(7), longRead);
    const once = shorten(conversation, 3);

    expect(JSON.stringify(shorten(shorten(shorten(conversation, 5), 3), 3))).toBe(JSON.stringify(once));
  });

  test("keeps what the tests said when they last failed", async () => {
    const perform = (call: PlacedCall): ActionOutcome =>
      call.name === "run_tests"
        ? anOutcome(call, { status: "failed", text: `failed ${call.turn}\n${long}` })
        : longRead(call);
    const conversation = await converse(
      [[["run_tests", {}]], [["run_tests", { filter: "x" }]], ...readTurns(5)],
      perform,
    );

    const answers = answersIn(toModelRequest(shorten(conversation, 1), 8192));

    expect(answers.slice(0, 2)).toEqual([
      "run_tests: failed, 2009 characters left out to save room; run_tests{} gets it back",
      `failed 2\n${long}`,
    ]);
  });

  test("names the saved page of a command, and never a write again", async () => {
    const perform = (call: PlacedCall): ActionOutcome => anOutcome(call, { text: `ok, the rest is in out:7\n${long}` });
    const conversation = await converse([
      [
        ["run_command", { command: "make" }],
        ["edit_file", { path: "a" }],
      ],
      ...readTurns(1),
    ]);
    const paged = await converse([[["run_command", { command: "make" }]], ...readTurns(1)], perform);
    const written = await converse([[["edit_file", { path: "a" }]], ...readTurns(1)], longRead);

    expect(answersIn(toModelRequest(shorten(paged, 1), 1))[0]).toContain('read_file{"path":"out:7"} gets it back');
    expect(answersIn(toModelRequest(shorten(written, 1), 1))[0]).toContain("read_file shows the file as it is now");
    expect(answersIn(toModelRequest(shorten(conversation, 1), 1))).toEqual(answersIn(toModelRequest(conversation, 1)));
  });

  test("shortens long arguments inside their JSON, never as text (hermes#11788)", async () => {
    const edits = [{ anchor: `a"\\$& ${long}`, replacement: "short" }];
    const conversation = await converse([[["edit_file", { path: "a", edits }]], ...readTurns(1)]);

    const message = toModelRequest(shorten(conversation, 1), 8192).messages.find(({ kind }) => kind === "assistant");
    const call = message?.kind === "assistant" ? message.toolCalls[0] : undefined;

    expect(JSON.parse(call?.arguments ?? "")).toEqual({
      path: "a",
      edits: [{ anchor: "[2006 characters left out to save room]", replacement: "short" }],
    });
  });
});

describe("room is made", () => {
  const maxOutputTokens = 1000;

  test("not at all while there is no pressure: the very same conversation comes back", async () => {
    const conversation = await converse(readTurns(20), longRead);

    expect(makeRoom({ contextTokens: 100_000, maxOutputTokens }, conversation)).toBe(conversation);
  });

  test.each([
    { contextTokens: 9000, whole: 5 },
    { contextTokens: 5500, whole: 3 },
    { contextTokens: 3500, whole: 1 },
  ])("with $contextTokens tokens by keeping the last $whole turns whole", async ({ contextTokens, whole }) => {
    const conversation = await converse(readTurns(12), longRead);

    const ready = makeRoom({ contextTokens, maxOutputTokens }, conversation);

    if (ready === null) throw new Error("nothing fitted");
    expect(answersIn(toModelRequest(ready, maxOutputTokens)).filter((text) => text.includes(long))).toHaveLength(whole);
    expect(estimateTokens(ready)).toBeLessThanOrEqual((contextTokens - maxOutputTokens) * 0.95);
  });

  test("never where one turn alone is too much", async () => {
    const conversation = await converse(readTurns(12), longRead);

    expect(makeRoom({ contextTokens: 1500, maxOutputTokens }, conversation)).toBeNull();
  });

  test("seldom: between two epochs each request begins with the whole of the one before", async () => {
    const script = [...readTurns(40).map((calls) => anAnswer(calls, { usage: uncounted })), finish];
    const loop = aLoop(script, {
      contextTokens: 14_000,
      maxOutputTokens,
      perform: (call) => Promise.resolve(call.name === "finish" ? anOutcome(call) : longRead(call)),
    });

    const end = await loop.run();

    const texts = loop.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -1));
    const epochs = texts.flatMap((text, turn) => (turn > 0 && !text.startsWith(texts[turn - 1] ?? "") ? [turn] : []));
    expect(end.kind).toBe("finished");
    expect(epochs.length).toBeGreaterThan(0);
    expect(epochs.length).toBeLessThan(8);
  });
});

describe("the estimate", () => {
  test("moves towards what the server counts, by 0.3 of the difference, and no further than twice or half", async () => {
    const { deps } = aLoop([]);
    const plain = estimateTokens(anOpening());
    const opening = anOpening();
    const counted = async (conversation: Conversation, inputTokens: number): Promise<Conversation> => {
      const usage = { inputTokens, outputTokens: 1, estimated: false };
      const answer = anAnswer([["read_file", { path: "a" }]], { usage });
      return withTurn(conversation, await takeTurn(deps, conversation, answer, never));
    };

    expect((await counted(opening, plain * 2)).correction).toBeCloseTo(1.3);
    expect((await counted(opening, plain * 100)).correction).toBe(2);
    expect((await counted(opening, 1)).correction).toBeCloseTo(0.7, 1);
  });

  test("does not learn from a usage that the server did not give", async () => {
    const { deps } = aLoop([]);
    const usage = { inputTokens: 99_999, outputTokens: 1, estimated: true };
    const answer = anAnswer([["read_file", { path: "a" }]], { usage });

    const after = withTurn(anOpening(), await takeTurn(deps, anOpening(), answer, never));

    expect(after.correction).toBe(1);
    expect(after.used.inputTokens).toBe(99_999);
  });
});
