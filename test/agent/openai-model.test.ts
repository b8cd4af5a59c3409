import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createOpenAiModel, delay, type ModelEvent, type ModelRequest, untrusted } from "../../src/agent/index.ts";
import { CountersignError, createRedactor, type Redactor, Secret } from "../../src/domain/index.ts";
import { type Answerer, asEvents, sendJson, sendStream, startModelServer } from "../support/model-server.ts";

const key = `k-${randomBytes(12).toString("hex")}`;
const never = new AbortController().signal;
const request: ModelRequest = {
  messages: [{ kind: "user", text: "Hi" }],
  tools: [{ name: "finish", description: "Ends.", parameters: { type: "object" } }],
  maxOutputTokens: 512,
};
const usage = { prompt_tokens: 10, completion_tokens: 2 };
const goodChunks = [
  { id: "r1", model: "m-1", choices: [{ delta: { content: "Hal" } }] },
  { id: "r1", choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] },
  { id: "r1", choices: [], usage },
];
const sendGood: Answerer = (response) => sendStream(response, asEvents(goodChunks));

/** A client whose pauses are noted and not waited for. */
function aClient(
  baseUrl: string,
  changes: { apiKey?: string | null; silenceMs?: number } = {},
  redactor: Redactor = createRedactor([]),
) {
  const waits: number[] = [];
  const deps = {
    clock: () => Date.UTC(2026, 0, 1),
    randomBytes: (count: number) => new Uint8Array(count),
    redactor,
    delay: (waitMs: number) => {
      waits.push(waitMs);
      return Promise.resolve();
    },
  };
  const model = createOpenAiModel(deps, { baseUrl, apiKey: key, model: "m", silenceMs: 20_000, ...changes });
  return { model, waits };
}

async function failureOf(work: Promise<unknown>): Promise<CountersignError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CountersignError)) throw new Error("no operational failure", { cause: error });
  return error;
}

async function askServer(answer: Answerer, changes: Parameters<typeof aClient>[1] = {}) {
  await using server = await startModelServer(answer);
  const { model, waits } = aClient(server.baseUrl, changes);
  const events: ModelEvent[] = [];
  const error = await failureOf(model(request, (event) => events.push(event), never));
  return { error, waits, events, server };
}

describe("a request", () => {
  test("goes to the configured base address with key, tools, stream and usage asked for", async () => {
    await using server = await startModelServer(sendGood);

    const answer = await aClient(server.baseUrl).model(request, () => {}, never);

    expect(server.received).toHaveLength(1);
    expect(server.received[0]?.url).toBe("/v1/chat/completions");
    expect(server.received[0]?.headers.authorization).toBe(`Bearer ${key}`);
    expect(server.received[0]?.body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "finish", description: "Ends.", parameters: { type: "object" } } }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 512,
    });
    expect(answer).toEqual({
      responseId: "r1",
      model: "m-1",
      content: "Hallo",
      reasoning: "",
      refusal: null,
      toolCalls: [],
      finishReason: "stop",
      usage: { inputTokens: 10, outputTokens: 2, estimated: false },
      discarded: { attempts: 0, inputTokens: 0, outputTokens: 0 },
    });
  });

  test("carries no authorization where no key is set", async () => {
    await using server = await startModelServer(sendGood);

    await aClient(server.baseUrl, { apiKey: null }).model(request, () => {}, never);

    expect(server.received[0]?.headers.authorization).toBeUndefined();
  });

  test("puts calls, answers and our notices into the protocol's fields", async () => {
    await using server = await startModelServer(sendGood);
    const done = untrusted("done", { kind: "tool_result" });
    const messages: ModelRequest["messages"] = [
      { kind: "system", text: "Rules" },
      { kind: "assistant", text: "", toolCalls: [{ id: "a", name: "finish", arguments: "{}" }] },
      { kind: "tool", toolCallId: "a", content: done, delimiter: "d", notice: "Hurry." },
      { kind: "assistant", text: "So", toolCalls: [] },
    ];

    await aClient(server.baseUrl).model({ ...request, messages }, () => {}, never);

    expect(server.received[0]?.body).toHaveProperty("messages", [
      { role: "system", content: "Rules" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "finish", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "[tool_result; begins d]\ndone\n[ends d]\n\nHurry." },
      { role: "assistant", content: "So" },
    ]);
  });

  test("holds no live secret in any encoding, and every other text as it is (SEC-100)", async () => {
    await using server = await startModelServer(sendGood);
    const live = "a live secret of this service";
    const encoded = Buffer.from(live).toString("base64");
    const shaped = ["ghp", "aB3".repeat(12)].join("_");
    const origin = { kind: "tool_result", authorId: null, authorCanWrite: false } as const;
    const messages: ModelRequest["messages"] = [
      { kind: "user", text: `see ${live}` },
      { kind: "assistant", text: "", toolCalls: [{ id: "a", name: "run_command", arguments: `{"a":"${live}"}` }] },
      {
        kind: "tool",
        toolCallId: "a",
        content: untrusted(`${encoded} ${shaped}`, origin),
        delimiter: "d",
        notice: live,
      },
    ];

    await aClient(server.baseUrl, {}, createRedactor([new Secret(live)])).model(
      { ...request, messages },
      () => {},
      never,
    );

    const sent = JSON.stringify(server.received[0]?.body["messages"]);
    expect(sent).toContain(shaped);
    expect(sent.match(/\[redacted\]/g)).toHaveLength(4);
    for (const form of [live, encoded.slice(0, 36)]) expect(sent).not.toContain(form);
  });

  test("tells of each piece of the answer as an event", async () => {
    await using server = await startModelServer(sendGood);
    const events: ModelEvent[] = [];

    await aClient(server.baseUrl).model(request, (event) => events.push(event), never);

    expect(events).toEqual([
      { kind: "started", attempt: 1 },
      { kind: "text", text: "Hal" },
      { kind: "text", text: "lo" },
      { kind: "usage", usage: { inputTokens: 10, outputTokens: 2, estimated: false } },
    ]);
  });
});

describe("a server that does not stream", () => {
  const whole = {
    id: "r1",
    model: "m-1",
    choices: [
      {
        message: {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "a", type: "function", function: { name: "read_file", arguments: '{"path":"x"}' } },
            { id: "b", type: "function", function: { name: "read_file", arguments: '{"path":"y"}' } },
          ],
        },
        finish_reason: "tool_calls",
      },
    ],
    usage,
  };

  test("is understood when it answers with one JSON completion", async () => {
    await using server = await startModelServer((response) => sendJson(response, 200, whole));

    const answer = await aClient(server.baseUrl).model(request, () => {}, never);

    expect(answer.toolCalls).toEqual([
      { id: "a", name: "read_file", arguments: '{"path":"x"}' },
      { id: "b", name: "read_file", arguments: '{"path":"y"}' },
    ]);
    expect(answer.usage).toEqual({ inputTokens: 10, outputTokens: 2, estimated: false });
  });

  test("is understood when it sends a stream under another content type", async () => {
    await using server = await startModelServer((response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.end(asEvents(goodChunks));
    });

    const answer = await aClient(server.baseUrl).model(request, () => {}, never);

    expect(answer.content).toBe("Hallo");
  });

  test("is named when it answers with a page instead of a completion", async () => {
    const { error, server } = await askServer((response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<html>\nWelcome</html>");
    });

    expect(error.code).toBe("MODEL_REJECTED");
    expect(error.message).toBe(
      `the model server \`${server.host}\` answered 200 for model \`m\` with no chat completion: <html> Welcome</html>`,
    );
  });
});

describe("a server that fails", () => {
  test.each([
    { status: 401, code: "MODEL_UNAUTHORIZED" },
    { status: 403, code: "MODEL_UNAUTHORIZED" },
    { status: 404, code: "MODEL_NOT_FOUND" },
    { status: 400, code: "MODEL_REJECTED" },
    { status: 422, code: "MODEL_REJECTED" },
    { status: 307, code: "MODEL_REJECTED" },
  ])("with $status is $code at once, with host, model and status and without the key", async ({ status, code }) => {
    const { error, waits, server } = await askServer((response, { headers }) => {
      const message = `no, not with ${headers.authorization}`;
      sendJson(response, status, { error: { message } }, { location: "http://127.0.0.1:9/" });
    });

    expect(error.code).toBe(code);
    expect(error.message).toContain(`\`${server.host}\` answered ${status} for model \`m\``);
    expect(server.received).toHaveLength(1);
    expect(waits).toEqual([]);
    expect(JSON.stringify([error.message, error.stack, error.details, String(error.cause)])).not.toContain(key);
  });

  test("quotes the server's own words on one line", async () => {
    const { error, server } = await askServer((response) =>
      sendJson(response, 404, { error: { message: `no model\n\u001b[31m'm' for ${key}` } }),
    );

    expect(error.message).toBe(
      `the model server \`${server.host}\` answered 404 for model \`m\`: no model [31m'm' for [redacted]`,
    );
  });

  test.each([408, 409, 429, 500, 502, 503])(
    "with %i is asked three times more, with growing pauses",
    async (status) => {
      const { error, waits, server } = await askServer((response) => sendJson(response, status, {}));

      expect(error.code).toBe("MODEL_UNAVAILABLE");
      expect(error.message).toContain(`answered ${status} for model \`m\` after 4 attempts`);
      expect(server.received).toHaveLength(4);
      expect(waits).toEqual([1000, 2000, 4000]);
    },
  );

  test("and then answers gives that answer, all bytes of the request the same", async () => {
    await using server = await startModelServer((response, received, count) =>
      count < 3 ? sendJson(response, 503, {}) : sendGood(response, received, count),
    );
    const { model } = aClient(server.baseUrl);

    const answer = await model(request, () => {}, never);

    expect(answer.content).toBe("Hallo");
    expect(answer.discarded).toEqual({ attempts: 2, inputTokens: 0, outputTokens: 0 });
    expect(new Set(server.received.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test.each([
    { header: "7", waitMs: 7000 },
    { header: "0", waitMs: 0 },
    { header: "600", waitMs: 60_000 },
    { header: "Thu, 01 Jan 2026 00:00:05 GMT", waitMs: 5000 },
    { header: "soon", waitMs: 1000 },
  ])("with Retry-After $header is asked again after $waitMs ms", async ({ header, waitMs }) => {
    await using server = await startModelServer((response, received, count) =>
      count === 1 ? sendJson(response, 429, {}, { "retry-after": header }) : sendGood(response, received, count),
    );
    const { model, waits } = aClient(server.baseUrl);

    await model(request, () => {}, never);

    expect(waits).toEqual([waitMs]);
  });

  test("by refusing connections is unavailable, with the cause by name", async () => {
    const server = await startModelServer(sendGood);
    await server[Symbol.asyncDispose]();
    const { model, waits } = aClient(server.baseUrl);

    const error = await failureOf(model(request, () => {}, never));

    expect(error.code).toBe("MODEL_UNAVAILABLE");
    expect(error.message).toBe(
      `no answer from the model server \`${server.host}\` for model \`m\` after 4 attempts: ECONNREFUSED`,
    );
    expect(waits).toHaveLength(3);
  });

  test("by breaking off in the middle is asked again, and the part that came counts but is dropped", async () => {
    await using server = await startModelServer((response, received, count) => {
      if (count > 1) return sendGood(response, received, count);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(asEvents([{ choices: [{ delta: { content: "a partial answer" } }] }], ""), () =>
        response.destroy(),
      );
    });
    const events: ModelEvent[] = [];

    const answer = await aClient(server.baseUrl).model(request, (event) => events.push(event), never);

    expect(answer.content).toBe("Hallo");
    const inputTokens = Math.ceil(JSON.stringify(server.received[0]?.body).length / 3.5);
    expect(answer.discarded).toEqual({ attempts: 1, inputTokens, outputTokens: 5 });
    expect(events.map(({ kind }) => kind)).toEqual([
      "started",
      "text",
      "discarded",
      "started",
      "text",
      "text",
      "usage",
    ]);
  });

  test("inside a stream is told by the status that it names", async () => {
    const { error, server } = await askServer((response) =>
      sendStream(response, asEvents([{ error: { message: "out of memory", code: 502 } }])),
    );

    expect(error.message).toContain("answered 502 for model `m` after 4 attempts: out of memory");
    expect(server.received).toHaveLength(4);
  });
});

describe("a server whose answer has no end, or 10 MB (AT-21)", () => {
  const mebibyte = "x".repeat(1024 * 1024);
  const pieces: readonly { readonly name: string; readonly type: string; readonly piece: string }[] = [
    { name: "in one piece", type: "application/json", piece: mebibyte },
    { name: "in one line of a stream", type: "text/event-stream", piece: mebibyte },
    { name: "in events", type: "text/event-stream", piece: `data: {"choices":[],"pad":"${mebibyte}"}\n\n` },
    { name: "in comments of a stream", type: "text/event-stream", piece: `: ${mebibyte}\n` },
  ];

  test.each(pieces)("$name is read up to 8 MiB and given up", async ({ type, piece }) => {
    let sentBytes = 0;
    const { error } = await askServer(async (response) => {
      response.writeHead(200, { "content-type": type });
      let isOpen = true;
      response.on("close", () => {
        isOpen = false;
      });
      for (sentBytes = 0; isOpen; sentBytes += piece.length)
        if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
    });

    expect(error.code).toBe("MODEL_UNAVAILABLE");
    expect(error.message).toContain("the answer has more than 8388608 bytes");
    expect(sentBytes).toBeGreaterThan(8 * 1024 * 1024 - piece.length);
  });
});

describe("a server that hangs", () => {
  test("before its answer is given up as silent", async () => {
    const { error, server, waits } = await askServer(() => {}, { silenceMs: 40 });

    expect(error.code).toBe("MODEL_SILENT");
    expect(error.message).toBe(`the model server \`${server.host}\` sent nothing for 0.04 s for model \`m\``);
    expect(waits).toEqual([]);
  });

  test("in the middle of its answer is given up as silent", async () => {
    const { error } = await askServer(
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(asEvents([goodChunks[0]], ""));
      },
      { silenceMs: 60 },
    );

    expect(error.code).toBe("MODEL_SILENT");
  });
});

describe("an abort", () => {
  test("in the middle of a stream ends the call at once with its reason, and closes the connection", async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await startModelServer((response) => {
      response.on("close", closed.resolve);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(asEvents([goodChunks[0]], ""));
    });
    const controller = new AbortController();
    const reason = new CountersignError("ABORTED", "stopped");
    const stopAtText = ({ kind }: ModelEvent): void => {
      if (kind === "text") controller.abort(reason);
    };

    const work = aClient(server.baseUrl).model(request, stopAtText, controller.signal);

    await expect(work).rejects.toBe(reason);
    await closed.promise;
    expect(server.received).toHaveLength(1);
  });

  test("before the call sends nothing", async () => {
    await using server = await startModelServer(sendGood);
    const reason = new CountersignError("ABORTED", "stopped");

    await expect(aClient(server.baseUrl).model(request, () => {}, AbortSignal.abort(reason))).rejects.toBe(reason);

    expect(server.received).toEqual([]);
  });

  test("during a pause ends the call at once", async () => {
    const controller = new AbortController();
    const reason = new CountersignError("ABORTED", "stopped");
    await using server = await startModelServer((response) => sendJson(response, 503, {}));
    const redactor = createRedactor([]);
    const deps = { clock: () => 0, randomBytes: (count: number) => new Uint8Array(count), delay, redactor };
    const options = { baseUrl: server.baseUrl, apiKey: key, model: "m", silenceMs: 20_000 };
    const stopAtPause = ({ kind }: ModelEvent): void => {
      if (kind === "discarded") setImmediate(() => controller.abort(reason));
    };

    const work = createOpenAiModel(deps, options)(request, stopAtPause, controller.signal);

    await expect(work).rejects.toBe(reason);
    expect(server.received).toHaveLength(1);
  });
});

describe("a parameter that the server does not take", () => {
  test.each([
    { param: "max_tokens", missing: "max_tokens", present: "max_completion_tokens" },
    { param: "stream_options.include_usage", missing: "stream_options", present: "max_tokens" },
  ])("$param is left out after a 400, and stays out", async ({ param, missing, present }) => {
    await using server = await startModelServer((response, received, count) => {
      if (missing in received.body) return sendJson(response, 400, { error: { message: "unsupported", param } });
      return sendGood(response, received, count);
    });
    const { model, waits } = aClient(server.baseUrl);

    await model(request, () => {}, never);
    await model(request, () => {}, never);

    expect(server.received).toHaveLength(3);
    expect(server.received.map(({ body }) => missing in body)).toEqual([true, false, false]);
    expect(server.received[2]?.body).toHaveProperty(present);
    expect(waits).toEqual([]);
  });
});

test("a bug of a listener comes out as it is and is not taken for a failure of the server", async () => {
  await using server = await startModelServer(sendGood);
  const bug = new Error("listener");
  const onEvent = ({ kind }: ModelEvent): void => {
    if (kind === "text") throw bug;
  };

  await expect(aClient(server.baseUrl).model(request, onEvent, never)).rejects.toBe(bug);
});

test("a delay leaves at once when it is aborted, before and during the wait", async () => {
  const reason = new CountersignError("ABORTED", "stopped");
  const controller = new AbortController();
  const waiting = delay(60_000, controller.signal);
  controller.abort(reason);

  await expect(waiting).rejects.toBe(reason);
  await expect(delay(60_000, controller.signal)).rejects.toBe(reason);
});
