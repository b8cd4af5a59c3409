import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type JsonObject, parseDeliveryId, parseStrictJson, type Secret } from "../domain/index.ts";
import { readBody } from "./read-body.ts";
import type { SignedDelivery } from "./reading.ts";
import { isSigned } from "./signature.ts";

/** A request that is a signed delivery, or the status that it is answered with. */
export type RequestRead =
  | { readonly kind: "delivery"; readonly delivery: SignedDelivery }
  | { readonly kind: "refused"; readonly status: 401 | 413 | 415; readonly reason: string }
  /** The sender went away or was too slow: nobody is left to be answered. */
  | { readonly kind: "broken_off" };

const refused = (status: 401 | 413 | 415, reason: string): RequestRead => ({ kind: "refused", status, reason });

const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;

/** In the order of GH-30: type, size, signature; only then is anything in it looked at. */
export async function readRequest(
  request: IncomingMessage,
  settings: { readonly secrets: readonly Secret[]; readonly sizeLimitBytes: number },
): Promise<RequestRead> {
  const header = (name: string): readonly string[] => request.headersDistinct[name] ?? [];
  const types = header("content-type");
  const isJson = types.length === 1 && jsonType.test(types[0] ?? "");
  if (!isJson || header("content-encoding").length > 0) return refused(415, "content_type");

  const body = await readBody(request, settings.sizeLimitBytes);
  if (body.kind === "broken_off") return body;
  if (body.kind === "too_large") return refused(413, "too_large");
  if (!isSigned(settings.secrets, header("x-hub-signature-256"), body.bytes)) return refused(401, "signature");

  return deliveryOf(body.bytes, { ids: header("x-github-delivery"), names: header("x-github-event") }, settings);
}

/** The two headers are not signed: an id of another form names nothing; an event's name may be any word. */
function deliveryOf(
  bytes: Uint8Array,
  headers: { readonly ids: readonly string[]; readonly names: readonly string[] },
  { sizeLimitBytes }: { readonly sizeLimitBytes: number },
): RequestRead {
  const payload = parsePayload(bytes, sizeLimitBytes);
  if (payload === null) return refused(415, "no_json_object");
  const [id = "", ...moreIds] = headers.ids;
  const deliveryId = moreIds.length === 0 ? parseDeliveryId(id) : null;
  if (deliveryId === null) return refused(415, "delivery_id");
  const [eventName = "", ...moreNames] = headers.names;
  const bodyDigest = createHash("sha256").update(bytes).digest("hex");
  return {
    kind: "delivery",
    delivery: { deliveryId, eventName: moreNames.length === 0 ? eventName : "", payload, bodyDigest },
  };
}

/** Null also for what two parsers might read differently: equal keys, `__proto__`, nesting without end. */
function parsePayload(bytes: Uint8Array, sizeLimitBytes: number): JsonObject | null {
  const parsed = parseStrictJson(bytes, sizeLimitBytes);
  if (parsed.kind !== "value") return null;
  const { value } = parsed;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
