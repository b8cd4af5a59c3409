import type { Secret } from "../../domain/index.ts";
import type { OtlpProtocol, OutgoingSpan } from "./otlp.ts";

/** Where spans are sent, as `OTEL_EXPORTER_OTLP_*` says it. */
export type SpanReceiver = {
  /** The whole address, `/v1/traces` included. */
  readonly url: string;
  readonly protocol: OtlpProtocol;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** Longest time for one request. */
  readonly timeoutMs: number;
  /** `service.name` and whatever `OTEL_RESOURCE_ATTRIBUTES` adds. */
  readonly resource: Readonly<Record<string, string>>;
};

/**
 * What became of a request. `refused`: the receiver is well and does not want one of these spans. `unavailable`: it says
 * nothing about the spans; they come again later. `code` is ours, never the receiver's text.
 */
export type Verdict =
  | { readonly kind: "taken" }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unavailable"; readonly code: string };

/** The request itself is at fault: sent again unchanged it would fail again (OTLP specification, "Failures"). */
const refusingStatuses: ReadonlySet<number> = new Set([400, 413, 422]);
/** An answer is a few bytes; more is not read. */
const largestAnswerBytes = 64 * 1024;

/** Sends spans once. Throws the signal's reason, promptly; all else is a verdict. */
export async function postSpans(
  receiver: SpanReceiver,
  spans: readonly OutgoingSpan[],
  signal: AbortSignal,
): Promise<Verdict> {
  signal.throwIfAborted();
  const otlp = await loadOtlp();
  const timeout = AbortSignal.timeout(receiver.timeoutMs);
  try {
    const response = await fetch(receiver.url, {
      method: "POST",
      headers: {
        ...Object.fromEntries(receiver.headers.map(([name, value]) => [name, value.reveal()])),
        "content-type": otlp.contentTypeOf(receiver.protocol),
      },
      body: Buffer.from(otlp.serializeSpans(receiver.protocol, spans)),
      redirect: "manual", // headers with a key go to the address that was configured, and to no other
      signal: AbortSignal.any([signal, timeout]),
    });
    const answer = await readAnswer(response);
    const contentType = response.headers.get("content-type");
    const rejected = answer === null ? null : otlp.rejectedSpans(receiver.protocol, contentType, answer);
    return verdictOf(response.status, rejected);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "unavailable", code: timeout.aborted ? "timeout" : reasonOf(error) };
  }
}

/** The serializer takes hundreds of milliseconds to load: only a process that sends pays for it. */
const loadOtlp = (): Promise<typeof import("./otlp.ts")> => import("./otlp.ts");

function verdictOf(status: number, rejected: number | null): Verdict {
  if (refusingStatuses.has(status)) return { kind: "refused", code: `status_${status}` };
  if (status < 200 || status > 299) return { kind: "unavailable", code: `status_${status}` };
  if (rejected === null) return { kind: "unavailable", code: "answer_unreadable" };
  return rejected === 0 ? { kind: "taken" } : { kind: "refused", code: "partial_success" };
}

/** Null where it is longer than any answer of a receiver. */
async function readAnswer({ body }: Response): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > largestAnswerBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The system's code of a failed connection, such as `ECONNREFUSED`. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  return /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : "connection_failed";
}
