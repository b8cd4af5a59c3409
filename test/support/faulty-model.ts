import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

/** What goes wrong at a model's server. */
export type ModelFault =
  /** 401, 404, 429, 500 and so on, with an error body. */
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Takes the request and never answers. */
  | { readonly kind: "hangs" }
  /** Begins a right answer and falls silent after some bytes. */
  | { readonly kind: "falls_silent"; readonly afterBytes: number }
  /** Begins a right answer and cuts the connection after some bytes. */
  | { readonly kind: "resets"; readonly afterBytes: number }
  /** Answers in one piece although a stream was asked for. */
  | { readonly kind: "does_not_stream" }
  /** Answers something that is no JSON, as a proxy's error page is. */
  | { readonly kind: "answers_html" };

export type FaultyModel = AsyncDisposable & {
  readonly baseUrl: string;
  /** Requests for a completion so far, the faulty ones included. */
  readonly requestCount: () => number;
};

/** A server before another that goes wrong at the first `faultyCount` requests for a completion and then passes all on. */
export async function startFaultyModel(
  behind: { readonly baseUrl: string },
  fault: ModelFault,
  faultyCount = Number.POSITIVE_INFINITY,
): Promise<FaultyModel> {
  let count = 0;
  const server = createServer((request, response) => {
    if (request.method === "POST") count += 1;
    const active = request.method === "POST" && count <= faultyCount ? fault : null;
    answer(behind.baseUrl, active, request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requestCount: () => count,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  behind: string,
  fault: ModelFault | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await new Response(Readable.toWeb(request) as ReadableStream).text();
  if (fault?.kind === "hangs") return;
  if (fault?.kind === "status") {
    response.writeHead(fault.status, { "content-type": "application/json", ...fault.headers });
    response.end(
      JSON.stringify({ error: { message: `fault ${fault.status}`, type: "fault", param: null, code: null } }),
    );
    return;
  }
  if (fault?.kind === "answers_html") {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<html><body>Bad gateway</body></html>");
    return;
  }
  const asked = fault?.kind === "does_not_stream" ? wholeInstead(body) : body;
  const right = await pass(behind, request, asked);
  response.writeHead(right.status, { "content-type": right.headers.get("content-type") ?? "application/json" });
  const bytes = Buffer.from(await right.arrayBuffer());
  if (fault?.kind !== "resets" && fault?.kind !== "falls_silent") {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, fault.afterBytes), () => {
    if (fault.kind === "resets") response.destroy();
  });
}

const pass = (behind: string, request: IncomingMessage, body: string): Promise<Response> =>
  fetch(`${behind}${(request.url ?? "").replace(/^\/v1/, "")}`, {
    method: request.method ?? "GET",
    headers: { "content-type": "application/json", authorization: request.headers.authorization ?? "" },
    ...(request.method === "POST" ? { body } : {}),
  });

/** The same request without its stream. */
function wholeInstead(body: string): string {
  const { stream_options: _, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify({ ...rest, stream: false });
}
