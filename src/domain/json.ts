export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Deepest nesting of arrays and objects that the gate lets through (AUD-14). */
export const jsonDepthLimit = 64;
/** Largest JSON text in bytes of UTF-8 that the gate lets through (AUD-14). */
export const jsonSizeLimitBytes = 1024 * 1024;

/** Why a text is refused: one code for each way (AUD-14). `not_json` is any other fault against RFC 8259. */
export type JsonTextRefusalCode =
  | "invalid_utf8"
  | "not_json"
  | "duplicate_key"
  | "proto_key"
  | "lone_surrogate"
  | "reversed_surrogates"
  | "integer_out_of_range"
  | "number_overflow"
  | "too_deep"
  | "too_large";

/** Why a value is no plain JSON: one code for each way (AUD-14). */
export type JsonValueRefusalCode =
  | "nan"
  | "infinity"
  | "bigint"
  | "undefined"
  | "function"
  | "symbol"
  | "sparse_array"
  | "date"
  | "map"
  | "set"
  | "typed_array"
  | "boxed"
  | "to_json"
  | "getter"
  | "hidden_property"
  | "proxy"
  | "foreign_prototype"
  | "proto_key"
  | "lone_surrogate"
  | "reversed_surrogates"
  | "too_deep"
  | "too_large";

/** `position` is the offset in UTF-16 code units; for `invalid_utf8` that of the first byte which
 * cannot follow. It tells no content. */
export type JsonTextRefusal = {
  readonly kind: "refused";
  readonly code: JsonTextRefusalCode;
  readonly position: number;
};
/** `position` is a JSON Pointer (RFC 6901); it holds keys of the value, so it is no evidence. */
export type JsonValueRefusal = { readonly code: JsonValueRefusalCode; readonly position: string };
export type JsonParsed = { readonly kind: "value"; readonly value: JsonValue } | JsonTextRefusal;
