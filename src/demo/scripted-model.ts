import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../domain/index.ts";
import { toAnswer, toCompletion, toStream } from "./chat-answer.ts";
import { type ChatRequest, type ProtocolError, readChatRequest } from "./chat-protocol.ts";
import { nextMove } from "./next-move.ts";

type ScriptedModelOptions = {
  /** The one model that the server has. Default `scripted`. */
  readonly model?: string;
  /** Asked for as `Authorization: Bearer <key>` when set; default: no key is needed. */
  readonly apiKey?: string;
  /** Waited before each answer, default 0. */
  readonly latencyMs?: number;
  /** Called with each request that was well-formed, before it is answered. */
  readonly onRequest?: (request: ChatRequest) => void;
};

export type ScriptedModel = AsyncDisposable & {
  /** For `OPENAI_BASE_URL`: ends in `/v1`. */
  readonly baseUrl: string;
  /** For `OPENAI_MODEL`. */
  readonly model: string;
};

type Deps = { readonly clock: Clock };

/** Larger than any context that a client of ours sends; a real server has such a limit too. */
const maxBodyBytes = 32 * 1024 * 1024;

/**
 * Serves OpenAI's chat completions protocol on 127.0.0.1 at a free port: `POST /v1/chat/completions`, streamed or whole,
 * and `GET /v1/models`. It keeps no state: each answer is derived from the messages of the request alone, so that retries and
 * restarts of the client meet the same model. Malformed requests are answered as a real server answers them.
 */
export async function startScriptedModel(deps: Deps, options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const model = options.model ?? "scripted";
  const server = createServer((request, response) => {
    answer(deps, { ...options, model }, request, response).catch((cause: unknown) => {
      response.destroy(cause instanceof Error ? cause : new Error("the scripted model failed", { cause }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    model,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Settings = ScriptedModelOptions & { readonly model: string };

async function answer(
  deps: Deps,
  settings: Settings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (settings.apiKey !== undefined && request.headers.authorization !== `Bearer ${settings.apiKey}`)
    return sendError(response, {
      status: 401,
      message: "Incorrect API key provided.",
      param: null,
      code: "invalid_api_key",
    });
  const route = `${request.method} ${new URL(request.url ?? "/", "http://127.0.0.1").pathname}`;
  if (route === "GET /v1/models")
    return sendJson(response, 200, {
      object: "list",
      data: [{ id: settings.model, object: "model", created: 0, owned_by: "countersign" }],
    });
  if (route !== "POST /v1/chat/completions")
    return sendError(response, {
      status: 404,
      message: `Unknown request URL: ${route}.`,
      param: null,
      code: "unknown_url",
    });
  const read = readChatRequest(await readBody(request));
  if (read.kind === "error") return sendError(response, read.error);
  if (read.request.model !== settings.model)
    return sendError(response, {
      status: 404,
      message: `The model '${read.request.model}' does not exist or you do not have access to it.`,
      param: "model",
      code: "model_not_found",
    });
  settings.onRequest?.(read.request);
  await waitFor(settings.latencyMs ?? 0, response);
  send(response, read.request, deps.clock());
}

function send(response: ServerResponse, request: ChatRequest, nowMs: number): void {
  const worded = toAnswer(request, nextMove(request), nowMs);
  if (request.stream !== true) {
    sendJson(response, 200, toCompletion(worded));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  for (const data of toStream(worded, request.stream_options?.include_usage === true))
    response.write(`data: ${data}\n\n`);
  response.end();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBodyBytes) return "";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Ends early when the client has gone. */
async function waitFor(latencyMs: number, response: ServerResponse): Promise<void> {
  if (latencyMs === 0) return;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  await delay(latencyMs, undefined, { signal: gone.signal });
}

function sendError(response: ServerResponse, error: ProtocolError): void {
  sendJson(response, error.status, {
    error: { message: error.message, type: "invalid_request_error", param: error.param, code: error.code },
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
