import { describe, expect, test } from "vitest";
import { accumulateStream } from "../../src/agent/accumulate-stream.ts";
import type { ModelEvent } from "../../src/agent/index.ts";
import { readAnswer } from "../../src/agent/read-answer.ts";
import { type RecordedStream, recordedStreams } from "./recorded-streams.ts";

async function accumulate(parts: readonly Uint8Array[], onEvent: (event: ModelEvent) => void = () => {}) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  const accumulator = accumulateStream(onEvent);
  const failure = await readAnswer(response, accumulator, () => {});
  return { failure, answer: accumulator.finish({ model: "asked", inputTokens: 42 }) };
}

function facts(answer: Awaited<ReturnType<typeof accumulate>>["answer"]): RecordedStream["expected"] {
  const { content, reasoning, toolCalls, finishReason, usage } = answer;
  const counted = usage.estimated ? null : { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens };
  return { content, ...(reasoning === "" ? {} : { reasoning }), toolCalls, finishReason, usage: counted };
}

describe("an answer comes out the same however the server cuts it (ACI-94)", () => {
  test.each(recordedStreams)("whole: $name", async ({ text, expected }) => {
    const { failure, answer } = await accumulate([Buffer.from(text)]);

    expect(failure).toBeNull();
    expect(facts(answer)).toEqual(expected);
  });

  test.each(recordedStreams)("cut at every byte: $name", async ({ text, expected }) => {
    const bytes = Buffer.from(text);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const { failure, answer } = await accumulate([bytes.subarray(0, cut), bytes.subarray(cut)]);

      expect({ cut, failure, ...facts(answer) }).toEqual({ cut, failure: null, ...expected });
    }
  });

  test.each(recordedStreams)("byte by byte: $name", async ({ text, expected }) => {
    const { failure, answer } = await accumulate([...Buffer.from(text)].map((byte) => Uint8Array.of(byte)));

    expect(failure).toBeNull();
    expect(facts(answer)).toEqual(expected);
  });
});

test("tells of text, thoughts, calls and usage as they come, a call once its name is known", async () => {
  const stream = recordedStreams.find(({ name }) => name.startsWith("arguments before"))?.text ?? "";
  const events: ModelEvent[] = [];

  await accumulate([Buffer.from(stream)], (event) => events.push(event));

  expect(events).toEqual([
    { kind: "call_started", ordinal: 0, name: "read_file" },
    { kind: "call_finished", ordinal: 0, name: "read_file" },
    { kind: "usage", usage: { inputTokens: 42, outputTokens: 9, estimated: true } },
  ]);
});

test("does not take a stream that stops in the middle for an answer", async () => {
  const { text } = recordedStreams[0] ?? { text: "" };
  const whole = text.slice(0, text.indexOf("data:", 300));

  const atAnEvent = await accumulate([Buffer.from(whole)]);
  const insideOne = await accumulate([Buffer.from(whole.slice(0, -20))]);

  expect(atAnEvent.failure).toEqual({ kind: "connection", words: "the stream ended before the answer did" });
  expect(insideOne.failure).toEqual({ kind: "connection", words: "an event of the stream was cut off or no JSON" });
});

test("leaves arguments that were cut at the limit as they came", async () => {
  const cut = {
    choices: [{ delta: { tool_calls: [{ id: "a", function: { name: "finish" } }] }, finish_reason: "length" }],
  };
  const { answer } = await accumulate([Buffer.from(`data: ${JSON.stringify(cut)}\n\n`)]);

  expect(answer.toolCalls).toEqual([{ id: "a", name: "finish", arguments: "" }]);
});

test("hears of every byte, comments included, so that a server which only keeps the line open is not silent", async () => {
  const parts = [": wait\n\n", ": wait\n\n", "data: [DONE]\n\n"].map((part) => Buffer.from(part));
  const response = new Response(ReadableStream.from(parts), { headers: { "content-type": "text/event-stream" } });
  let heard = 0;

  await readAnswer(
    response,
    accumulateStream(() => {}),
    () => {
      heard += 1;
    },
  );

  expect(heard).toBe(3);
});
