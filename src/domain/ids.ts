declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

export type RunId = Id<"RunId">;
export type ActionId = Id<"ActionId">;
export type EntryId = Id<"EntryId">;
export type DecisionId = Id<"DecisionId">;
export type ApprovalId = Id<"ApprovalId">;
export type DeliveryId = Id<"DeliveryId">;
/** 32 lower-case hex digits, as in W3C Trace Context. */
export type TraceId = Id<"TraceId">;

/** Milliseconds since 1970-01-01T00:00:00Z. Passed in, so that no test depends on the time of day. */
export type Clock = () => number;
/** Cryptographically strong random bytes. */
export type RandomBytes = (count: number) => Uint8Array;
/** What new ids are made of. */
export type IdSource = { readonly clock: Clock; readonly randomBytes: RandomBytes };

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A UUID version 7 (RFC 9562 section 5.7): sorts by time of making; the last 62 bits are random. */
function uuidV7(source: IdSource): string {
  const bytes = Buffer.from(source.randomBytes(16));
  bytes.writeUIntBE(source.clock(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export const newRunId = (source: IdSource): RunId => uuidV7(source) as RunId;
export const newActionId = (source: IdSource): ActionId => uuidV7(source) as ActionId;
export const newEntryId = (source: IdSource): EntryId => uuidV7(source) as EntryId;
export const newDecisionId = (source: IdSource): DecisionId => uuidV7(source) as DecisionId;
export const newApprovalId = (source: IdSource): ApprovalId => uuidV7(source) as ApprovalId;

/** The id, or null where the text is no UUID in lower case. */
export const parseRunId = (text: string): RunId | null => (uuidForm.test(text) ? (text as RunId) : null);
/** The trace id, or null where the text is no 32 lower-case hex digits. */
export const parseTraceId = (text: string): TraceId | null => (/^[0-9a-f]{32}$/.test(text) ? (text as TraceId) : null);
export const parseActionId = (text: string): ActionId | null => (uuidForm.test(text) ? (text as ActionId) : null);

/** Of the header `X-GitHub-Delivery`, which is not signed: null where it has another form than an id. */
export const parseDeliveryId = (text: string): DeliveryId | null =>
  /^[A-Za-z0-9_-]{1,64}$/.test(text) ? (text as DeliveryId) : null;
