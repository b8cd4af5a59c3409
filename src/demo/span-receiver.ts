import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

/** A request of OTLP/HTTP in JSON; fields that are counted. */
const TraceExport = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(z.object({ traceId: z.string(), spanId: z.string(), parentSpanId: z.string().optional() })),
        }),
      ),
    }),
  ),
});

export type ReceivedTrace = {
  /** Different spans. */
  readonly spanCount: number;
  /** Whether each span's parent came too, and one span has none. */
  readonly isWhole: boolean;
};

/** Takes traces over OTLP/HTTP on 127.0.0.1. */
export type SpanReceiver = AsyncDisposable & {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  received(traceId: string): ReceivedTrace;
  /** Resolves once the trace is whole, or when `signal` is aborted. */
  untilWhole(traceId: string, signal: AbortSignal): Promise<void>;
};

/** Parent of each span by its id, by trace. */
type Traces = Map<string, Map<string, string>>;

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const traces: Traces = new Map();
  const arrivals = new EventTarget();
  const server = createServer((request, response) => {
    take(traces, request).then(
      () => {
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
        arrivals.dispatchEvent(new Event("spans"));
      },
      () => response.writeHead(400).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const received = (traceId: string): ReceivedTrace => describe(traces.get(traceId) ?? new Map());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    untilWhole: async (traceId, signal) => {
      while (!received(traceId).isWhole && !signal.aborted) {
        await once(arrivals, "spans", { signal }).catch(() => undefined);
      }
    },
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function take(traces: Traces, request: IncomingMessage): Promise<void> {
  const body = Buffer.concat(await request.toArray()).toString("utf8");
  const { resourceSpans } = TraceExport.parse(JSON.parse(body));
  for (const span of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))) {
    const trace = traces.get(span.traceId) ?? new Map<string, string>();
    traces.set(span.traceId, trace.set(span.spanId, span.parentSpanId ?? ""));
  }
}

function describe(trace: ReadonlyMap<string, string>): ReceivedTrace {
  const parents = [...trace.values()];
  const hasRoot = parents.includes("");
  return { spanCount: trace.size, isWhole: hasRoot && parents.every((parent) => parent === "" || trace.has(parent)) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
