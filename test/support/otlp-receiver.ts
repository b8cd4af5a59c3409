import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: number; readonly message?: string };
  readonly flags: number;
};
export type Request = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer };
type Answer = { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> };

/** What a request gets: an answer, a broken connection, or nothing at all. */
export type Answerer = (
  request: Request,
  count: number,
) => Answer | "reset" | "hang" | Promise<Answer | "reset" | "hang">;

export type OtlpReceiver = AsyncDisposable & {
  readonly url: string;
  readonly requests: readonly Request[];
  /** Replaces how the next requests are answered. */
  answer(answerer: Answerer): void;
};

export const taken: Answer = { status: 200, body: {} };

/** A real HTTP server on loopback that takes OTLP over HTTP. */
export async function startOtlpReceiver(first: Answerer = () => taken): Promise<OtlpReceiver> {
  let answerer = first;
  const requests: Request[] = [];
  const server = createServer(async (message, response) => {
    const request = { url: message.url ?? "", headers: message.headers, body: await bodyOf(message) };
    requests.push(request);
    respond(message, response, await answerer(request, requests.length));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => {
      answerer = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function respond(message: IncomingMessage, response: ServerResponse, answer: Answer | "reset" | "hang"): void {
  if (answer === "hang") return;
  if (answer === "reset") return void message.socket.resetAndDestroy();
  const isJson = message.headers["content-type"] === "application/json";
  const body = isJson ? JSON.stringify(answer.body ?? {}) : ((answer.body as Uint8Array | undefined) ?? "");
  const type = answer.headers ?? { "content-type": message.headers["content-type"] ?? "" };
  response.writeHead(answer.status, type).end(Buffer.isBuffer(body) || typeof body === "string" ? body : "");
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

type ResourceSpans = {
  readonly resource: { readonly attributes: ReceivedSpan["attributes"] };
  readonly scopeSpans: readonly {
    readonly scope: { readonly name: string };
    readonly spans: readonly ReceivedSpan[];
  }[];
};

/** A request in OTLP's JSON form. */
export const resourceSpansIn = ({ body }: Request): readonly ResourceSpans[] =>
  (JSON.parse(body.toString()) as { readonly resourceSpans: readonly ResourceSpans[] }).resourceSpans;

export const spansIn = (request: Request): readonly ReceivedSpan[] =>
  resourceSpansIn(request).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

export type WireField = { readonly number: number; readonly value: bigint | Buffer };

/** The fields of one protobuf message, nested ones as bytes (protobuf.dev, "Encoding"). */
export function wireFields(bytes: Buffer): readonly WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wireType = tag & 7;
    const sizeBytes = wireType === 2 ? Number(varint()) : { 1: 8, 5: 4 }[wireType];
    if (sizeBytes === undefined) {
      fields.push({ number: tag >> 3, value: varint() });
      continue;
    }
    fields.push({ number: tag >> 3, value: bytes.subarray(at, at + sizeBytes) });
    at += sizeBytes;
  }
  return fields;
}

/** The nested messages or texts of one field. */
export const nested = (bytes: Buffer, number: number): readonly Buffer[] =>
  wireFields(bytes).flatMap((field) => (field.number === number && Buffer.isBuffer(field.value) ? [field.value] : []));
