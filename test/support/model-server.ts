import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  readonly url: string;
};
/** Answers one request; `count` is its number, from 1. */
export type Answerer = (response: ServerResponse, received: Received, count: number) => void | Promise<void>;

export type ModelServer = AsyncDisposable & {
  readonly baseUrl: string;
  readonly host: string;
  readonly received: readonly Received[];
};

/** A real HTTP server on loopback whose answers the test writes by hand. */
export async function startModelServer(answer: Answerer): Promise<ModelServer> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request)) as Record<string, unknown>;
    received.push({ headers: request.headers, body, url: request.url ?? "" });
    await answer(response, { headers: request.headers, body, url: request.url ?? "" }, received.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: `http://${host}/v1`,
    host,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

/** Events of a stream as bytes, as servers send them. */
export function asEvents(chunks: readonly unknown[], end = "data: [DONE]\n\n"): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + end;
}

export function sendStream(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(text);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
