import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeRoom, shorten } from "../../src/agent/context.ts";
import { type Conversation, checkMessages, toModelRequest } from "../../src/agent/conversation.ts";
import { type Message, untrusted, withTurn } from "../../src/agent/index.ts";
import { takeTurn } from "../../src/agent/take-turn.ts";
import { aLoop, anAnswer, anOpening, type WrittenCall } from "../support/loop.ts";

const never = new AbortController().signal;

const someCall = fc.tuple(
  fc.constantFrom("read_file", "edit_file", "run_tests", "no_such_tool"),
  fc.oneof(fc.jsonValue(), fc.constantFrom('{"path":"a', "{broken}", "")),
  fc.constantFrom("", "call_1", "call_2", "a b"),
);
const someAnswer = fc
  .record({
    calls: fc.array(someCall, { maxLength: 18 }),
    content: fc.constantFrom("", " ", "text"),
    finishReason: fc.constantFrom("stop", "length", "tool_calls"),
  })
  .map(({ calls, ...changes }) => anAnswer(calls as WrittenCall[], changes));

async function converse(answers: readonly ReturnType<typeof anAnswer>[]): Promise<Conversation> {
  const { deps } = aLoop([]);
  let conversation = anOpening();
  for (const answer of answers)
    conversation = withTurn(conversation, await takeTurn(deps, conversation, answer, never));
  return conversation;
}

describe("calls and answers stay paired (ACI-89)", () => {
  test("whatever the model writes and wherever the history is cut, nested cuts included", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(someAnswer, { maxLength: 8 }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 4 }),
        async (answers, windows) => {
          const cut = windows.reduce(shorten, await converse(answers));

          expect(() => toModelRequest(cut, 8192)).not.toThrow();
        },
      ),
      { numRuns: 150 },
    );
  });

  test("a message taken away, doubled or moved is found before anything is sent", async () => {
    const { messages } = toModelRequest(
      await converse([
        anAnswer([
          ["read_file", { path: "a" }],
          ["read_file", { path: "b" }],
        ]),
        anAnswer([["run_tests", {}]]),
      ]),
      8192,
    );
    const paired = messages.slice(2);
    const broken: Message[][] = paired.flatMap((message, place) => [
      paired.toSpliced(place, 1),
      paired.toSpliced(place, 0, message),
      paired.toSpliced(place, 2, ...paired.slice(place, place + 2).toReversed()),
    ]);

    for (const sequence of broken.filter((changed) => JSON.stringify(changed) !== JSON.stringify(paired))) {
      expect(() => checkMessages(sequence)).toThrow();
    }
    expect(() => checkMessages(paired)).not.toThrow();
  });

  test.each<{ name: string; messages: Message[]; text: string }>([
    {
      name: "an empty message of the model",
      messages: [{ kind: "assistant", text: "", toolCalls: [] }],
      text: "is empty",
    },
    {
      name: "an orphan",
      messages: [
        {
          kind: "tool",
          toolCallId: "a",
          content: untrusted("x", { kind: "tool_result" }),
          delimiter: "d",
          notice: null,
        },
      ],
      text: "answer to `a` is out of place",
    },
    {
      name: "an empty id",
      messages: [{ kind: "assistant", text: "", toolCalls: [{ id: "", name: "n", arguments: "{}" }] }],
      text: "is empty or used twice",
    },
    {
      name: "an id that two calls share",
      messages: [
        {
          kind: "assistant",
          text: "",
          toolCalls: [
            { id: "a", name: "n", arguments: "{}" },
            { id: "a", name: "n", arguments: "{}" },
          ],
        },
      ],
      text: "is empty or used twice",
    },
  ])("$name is a bug and is not sent", ({ messages, text }) => {
    expect(() => checkMessages(messages)).toThrow(text);
  });
});

test("messages keep their identity from request to request, and no conversation is changed in place", async () => {
  const first = await converse([anAnswer([["read_file", { path: "a" }]])]);
  const before = JSON.stringify(first);
  const { deps } = aLoop([]);

  const second = withTurn(first, await takeTurn(deps, first, anAnswer([["run_tests", {}]]), never));
  makeRoom({ contextTokens: 9000, maxOutputTokens: 8192 }, second);

  const shared = toModelRequest(first, 8192).messages;
  expect(
    toModelRequest(second, 8192)
      .messages.slice(0, shared.length)
      .every((message, place) => message === shared[place]),
  ).toBe(true);
  expect(JSON.stringify(first)).toBe(before);
});
