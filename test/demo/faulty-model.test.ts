import { afterEach, beforeEach, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../src/demo/index.ts";
import { offeredTools, postChat } from "../support/chat-client.ts";
import { startFaultyModel } from "../support/faulty-model.ts";

let model: ScriptedModel;

beforeEach(async () => {
  model = await startScriptedModel({ clock: () => 0 });
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
});

const request = {
  model: "scripted",
  messages: [{ role: "user", content: "`add` subtracts." }],
  tools: offeredTools,
  stream: true,
  stream_options: { include_usage: true },
};

test("answers with a status as often as it was told, then passes on", async () => {
  await using faulty = await startFaultyModel(
    model,
    { kind: "status", status: 429, headers: { "retry-after": "1" } },
    1,
  );

  const first = await postChat(faulty.baseUrl, request);
  const second = await postChat(faulty.baseUrl, request);

  expect([first.status, first.headers.get("retry-after"), second.status]).toEqual([429, "1", 200]);
  expect(await second.text()).toMatch(/data: \[DONE\]\n\n$/);
  expect(faulty.requestCount()).toBe(2);
});

test("answers in one piece where a stream was asked for", async () => {
  await using faulty = await startFaultyModel(model, { kind: "does_not_stream" });

  const response = await postChat(faulty.baseUrl, request);

  expect(await response.json()).toMatchObject({ object: "chat.completion" });
});

test("cuts the connection in the middle of an answer", async () => {
  await using faulty = await startFaultyModel(model, { kind: "resets", afterBytes: 300 });

  const response = await postChat(faulty.baseUrl, request);

  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
});

test("falls silent in the middle of an answer until the client goes", async () => {
  await using faulty = await startFaultyModel(model, { kind: "falls_silent", afterBytes: 300 });

  const response = await postChat(faulty.baseUrl, request);
  const reader = response.body?.getReader();
  const first = await reader?.read();

  expect(first?.value?.length).toBe(300);
  await reader?.cancel();
});

test("never answers, and answers what is no JSON", async () => {
  await using hanging = await startFaultyModel(model, { kind: "hangs" });
  await using wrong = await startFaultyModel(model, { kind: "answers_html" });
  const leaving = new AbortController();

  const waiting = fetch(`${hanging.baseUrl}/chat/completions`, { method: "POST", body: "{}", signal: leaving.signal });
  const page = await postChat(wrong.baseUrl, request);
  leaving.abort();

  await expect(waiting).rejects.toThrow();
  expect(await page.text()).toContain("<html>");
});
