import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { parentPort } from "node:worker_threads";
import { callOf, type ScriptedCall } from "./model-script.ts";
import type { Served } from "./model-server.ts";

/** The server's own thread: it answers at once, and notes when an answer had been sent and when the next request came. */
type Body = {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly unknown[];
};

let served: Served = { gaps: [], requests: 0, stable: 0, promptChars: 0 };
let answered: { readonly atMs: number; readonly tool: string; readonly prefix: string; readonly tools: string } | null =
  null;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = performance.now();
  const body = JSON.parse(await text(request)) as Body;
  const step = body.messages.filter(({ role }) => role === "assistant").length;
  const messages = JSON.stringify(body.messages);
  const tools = JSON.stringify(body.tools ?? []);
  note(step, arrivedAt, { messages, tools, body });
  const call = callOf(body.model, step);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(streamOf(body.model, step, call));
  answered = { atMs: performance.now(), tool: call.name, prefix: messages.slice(0, -1), tools };
}

function note(
  step: number,
  arrivedAt: number,
  { messages, tools, body }: { readonly messages: string; readonly tools: string; readonly body: Body },
): void {
  served.requests += 1;
  if (step === 0 || answered === null) {
    served.promptChars = JSON.stringify(body.messages[0]).length + tools.length;
    served.stable += 1;
    return;
  }
  served.gaps.push({ step, tool: answered.tool, gapMs: arrivedAt - answered.atMs });
  if (messages.startsWith(answered.prefix) && tools === answered.tools) served.stable += 1;
}

/** One chunk with the whole call, the end, the usage: the least that a stream can be. */
function streamOf(model: string, step: number, call: ScriptedCall): string {
  const about = { id: `chatcmpl-${step}`, object: "chat.completion.chunk", created: 0, model };
  const toolCall = {
    index: 0,
    id: `call_${step}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  };
  const chunks = [
    {
      choices: [{ index: 0, delta: { role: "assistant", content: null, tool_calls: [toolCall] }, finish_reason: null }],
    },
    { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 } },
  ];
  const lines = chunks.map((chunk) => `data: ${JSON.stringify({ ...about, ...chunk })}\n\n`);
  return `${lines.join("")}data: [DONE]\n\n`;
}

const server = createServer((request, response) => {
  answer(request, response).catch((cause: unknown) => {
    response.destroy(cause instanceof Error ? cause : new Error("the measuring server failed", { cause }));
  });
});
server.listen(0, "127.0.0.1", () => {
  parentPort?.postMessage({ port: (server.address() as AddressInfo).port });
});
parentPort?.on("message", () => {
  parentPort?.postMessage(served);
  served = { gaps: [], requests: 0, stable: 0, promptChars: 0 };
  answered = null;
});
