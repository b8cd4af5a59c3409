import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { JsonObject } from "../../domain/index.ts";
import { type AttributeValue, type SpanKindName, traceScope } from "./names.ts";
import type { TraceSpan } from "./span.ts";

export type OtlpProtocol = "http/protobuf" | "http/json";

/** A stored span with the whole resource that it is sent under. */
export type OutgoingSpan = { readonly span: TraceSpan; readonly resource: Readonly<Record<string, string>> };

type ReadableSpan = NonNullable<Parameters<typeof JsonTraceSerializer.serializeRequest>[0]>[number];
type Resource = ReadableSpan["resource"];

const forms = {
  "http/protobuf": { contentType: "application/x-protobuf", serializer: ProtobufTraceSerializer },
  "http/json": { contentType: "application/json", serializer: JsonTraceSerializer },
} as const;

export const contentTypeOf = (protocol: OtlpProtocol): string => forms[protocol].contentType;

/** The body of an `ExportTraceServiceRequest`, made by OpenTelemetry's own serializer. The same spans give the same bytes. */
export function serializeSpans(protocol: OtlpProtocol, spans: readonly OutgoingSpan[]): Uint8Array {
  const resources = new Map<string, Resource>();
  const readable = spans.map(({ span, resource }) => {
    const key = JSON.stringify(resource);
    const one = resources.get(key) ?? ({ attributes: resource } as unknown as Resource);
    resources.set(key, one); // the serializer groups by identity
    return toReadable(span, one);
  });
  const body = forms[protocol].serializer.serializeRequest(readable);
  if (body === undefined) throw new Error("the serializer gave no bytes");
  return body;
}

/**
 * How many spans the receiver says it rejected, by its answer to a request with a 2xx. Null where the answer can't be read:
 * then it is not clean, and may come from something that is no receiver at all.
 */
export function rejectedSpans(protocol: OtlpProtocol, contentType: string | null, body: Uint8Array): number | null {
  if (body.byteLength === 0) return 0;
  if (contentType?.split(";")[0]?.trim().toLowerCase() !== contentTypeOf(protocol)) return null;
  try {
    const answer =
      protocol === "http/json"
        ? (JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as JsonObject)
        : forms[protocol].serializer.deserializeResponse(body);
    if (typeof answer !== "object" || answer === null) return null;
    // Protobuf's JSON writes an int64 as text.
    const rejected = Number((answer.partialSuccess as { rejectedSpans?: unknown } | undefined)?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) ? rejected : null;
  } catch {
    return null;
  }
}

/** OpenTelemetry's `SpanKind` and `SpanStatusCode`. */
const kinds: Readonly<Record<SpanKindName, number>> = { INTERNAL: 0, SERVER: 1, CLIENT: 2 };
const unset = 0;
const error = 2;
/** W3C Trace Context: sampled; never the random flag, since our ids are no random numbers (AUD-71). */
const sampled = 1;

function toReadable(span: TraceSpan, resource: Resource): ReadableSpan {
  const contextOf = (spanId: string) => ({ traceId: span.traceId, spanId, traceFlags: sampled });
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => contextOf(span.spanId),
    ...(span.parentId === null ? {} : { parentSpanContext: contextOf(span.parentId) }),
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    duration: hrTime(span.endMs - span.startMs),
    ended: true,
    status: span.errorCode === null ? { code: unset } : { code: error, message: span.errorCode },
    attributes: span.attributes as Record<string, Exclude<AttributeValue, readonly string[]> | string[]>,
    links: span.links.map((spanId) => ({ context: contextOf(spanId) })),
    events: [],
    resource,
    instrumentationScope: traceScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
