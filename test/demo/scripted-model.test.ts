import { afterEach, beforeEach, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../src/demo/index.ts";
import { askModel, type ChatMessage, offeredTools, postChat } from "../support/chat-client.ts";

let model: ScriptedModel;

beforeEach(async () => {
  model = await startScriptedModel({ clock: () => 1_700_000_000_000 });
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
});

const opening: readonly ChatMessage[] = [
  { role: "system", content: "You mend software." },
  { role: "user", content: "`add` subtracts." },
];

type Chunk = {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments: string };
      }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
};

async function streamOf(body: object): Promise<readonly string[]> {
  const response = await postChat(model.baseUrl, {
    model: "scripted",
    messages: opening,
    tools: offeredTools,
    stream: true,
    ...body,
  });
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const events = (await response.text()).split("\n\n");
  expect(events.pop()).toBe("");
  return events.map((event) => event.replace(/^data: /, ""));
}

const chunksOf = (events: readonly string[]): readonly Chunk[] => events.slice(0, -1).map((event) => JSON.parse(event));

test("streams text and arguments in several deltas that make the same answer as without a stream", async () => {
  const whole = await askModel(model.baseUrl, opening);

  const events = await streamOf({});

  const deltas = chunksOf(events).flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
  const content = deltas.map((delta) => delta.content ?? "").join("");
  expect(events.at(-1)).toBe("[DONE]");
  expect(deltas.filter((delta) => delta.content).length).toBeGreaterThan(1);
  expect(calls.length).toBeGreaterThan(1);
  expect(calls.slice(1).every(({ id, index }) => id === undefined && index === 0)).toBe(true);
  expect(whole).toMatchObject({
    content,
    tool_calls: [
      {
        id: calls[0]?.id,
        function: { name: "run_tests", arguments: calls.map((part) => part.function.arguments).join("") },
      },
    ],
  });
});

test("ends with the reason and, where it is asked for, the usage in a chunk without a choice", async () => {
  const asked = chunksOf(await streamOf({ stream_options: { include_usage: true } }));
  const notAsked = chunksOf(await streamOf({}));

  expect(asked.at(-2)?.choices[0]?.finish_reason).toBe("tool_calls");
  expect(asked.at(-1)?.choices).toEqual([]);
  const usage = asked.at(-1)?.usage;
  expect(usage?.prompt_tokens).toBeGreaterThan(100);
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
  expect(notAsked.every((chunk) => chunk.usage === undefined)).toBe(true);
});

test("lists its one model", async () => {
  const response = await fetch(`${model.baseUrl}/models`);

  expect(await response.json()).toMatchObject({ object: "list", data: [{ id: model.model, object: "model" }] });
});

const call = (id: string) => ({ id, type: "function", function: { name: "run_tests", arguments: "{}" } });
const rejected: readonly (readonly [string, number, unknown])[] = [
  ["a body that is no JSON", 400, "{"],
  ["no messages", 400, { model: "scripted", messages: [] }],
  ["an unknown role", 400, { model: "scripted", messages: [{ role: "wizard", content: "x" }] }],
  [
    "a tool whose schema is no object",
    400,
    {
      model: "scripted",
      messages: opening,
      tools: [{ type: "function", function: { name: "a", parameters: { type: "string" } } }],
    },
  ],
  ["two tools of one name", 400, { model: "scripted", messages: opening, tools: [offeredTools[0], offeredTools[0]] }],
  [
    "stream options without a stream",
    400,
    { model: "scripted", messages: opening, stream_options: { include_usage: true } },
  ],
  [
    "a call without its answer",
    400,
    { model: "scripted", messages: [...opening, { role: "assistant", content: null, tool_calls: [call("a")] }] },
  ],
  [
    "a call answered too late",
    400,
    {
      model: "scripted",
      messages: [
        ...opening,
        { role: "assistant", content: null, tool_calls: [call("a")] },
        { role: "user", content: "well?" },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
      ],
    },
  ],
  [
    "an answer without its call",
    400,
    { model: "scripted", messages: [...opening, { role: "tool", tool_call_id: "a", content: "ok: x" }] },
  ],
  [
    "two answers to one call",
    400,
    {
      model: "scripted",
      messages: [
        ...opening,
        { role: "assistant", content: null, tool_calls: [call("a")] },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
      ],
    },
  ],
  [
    "an id used twice in a message",
    400,
    {
      model: "scripted",
      messages: [
        ...opening,
        { role: "assistant", content: null, tool_calls: [call("a"), call("a")] },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
      ],
    },
  ],
  [
    "an id used twice in the conversation",
    400,
    {
      model: "scripted",
      messages: [
        ...opening,
        { role: "assistant", content: null, tool_calls: [call("a")] },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
        { role: "assistant", content: null, tool_calls: [call("a")] },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
      ],
    },
  ],
  [
    "an assistant's message with nothing in it",
    400,
    { model: "scripted", messages: [...opening, { role: "assistant", content: null }] },
  ],
  [
    "arguments that are no text",
    400,
    {
      model: "scripted",
      messages: [
        ...opening,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "a", type: "function", function: { name: "a", arguments: {} } }],
        },
        { role: "tool", tool_call_id: "a", content: "ok: x" },
      ],
    },
  ],
  ["another model", 404, { model: "gpt-none", messages: opening }],
];

test.each(rejected)("answers %s with an error body and status %i", async (_, status, body) => {
  const response = await postChat(model.baseUrl, body);

  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({
    error: { type: "invalid_request_error", message: expect.stringMatching(/./) },
  });
});

test("asks for the key that it was given", async () => {
  await using locked = await startScriptedModel({ clock: () => 0 }, { apiKey: "the-key" });

  const without = await fetch(`${locked.baseUrl}/models`);
  const withKey = await fetch(`${locked.baseUrl}/models`, { headers: { authorization: "Bearer the-key" } });

  expect([without.status, withKey.status]).toEqual([401, 200]);
});

test("shows each well-formed request and waits before the answer as it was told", async () => {
  const seen: number[] = [];
  await using slow = await startScriptedModel(
    { clock: () => 0 },
    { latencyMs: 30, onRequest: ({ messages }) => seen.push(messages.length) },
  );
  const startedAt = performance.now();

  await askModel(slow.baseUrl, opening);
  await postChat(slow.baseUrl, "{");

  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(25);
  expect(seen).toEqual([opening.length]);
});

test("gives the same answer to the same messages, also after a restart", async () => {
  const first = await askModel(model.baseUrl, opening);
  const again = await askModel(model.baseUrl, opening);
  await using other = await startScriptedModel({ clock: () => 0 });
  const elsewhere = await askModel(other.baseUrl, opening);

  expect(again).toEqual(first);
  expect(elsewhere).toEqual(first);
});

test("calls nothing where the tools are not offered", async () => {
  const answer = await askModel(model.baseUrl, opening, { tools: undefined });

  expect(answer).toMatchObject({ content: "I can't go on: the tool `run_tests` is not offered." });
  expect(answer).not.toHaveProperty("tool_calls");
});
