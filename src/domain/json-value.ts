import { types } from "node:util";
import canonicalize from "canonicalize";
import {
  type JsonValue,
  type JsonValueRefusal,
  type JsonValueRefusalCode,
  jsonDepthLimit,
  jsonSizeLimitBytes,
} from "./json.ts";

/**
 * Whether a value is plain JSON and nothing else: null where it is, else the first thing that is not. What a serialiser
 * would drop, call or convert in silence is refused here (AUD-14).
 */
export function checkPlainValue(value: unknown): JsonValueRefusal | null {
  const walk: Walk = { leastBytes: 0 };
  const code = checkNode(walk, value, 0);
  return code === null ? null : { code, position: walk.position ?? "" };
}

/** `leastBytes` also ends the walk through a value that names one part again and again and so never ends to grow. */
type Walk = { leastBytes: number; position?: string };
type Code = JsonValueRefusalCode | null;

function checkNode(walk: Walk, value: unknown, depth: number): Code {
  walk.leastBytes += 1;
  if (walk.leastBytes > jsonSizeLimitBytes) return "too_large";
  switch (typeof value) {
    case "string":
      return checkString(walk, value);
    case "boolean":
      return null;
    case "number":
      if (Number.isNaN(value)) return "nan";
      return Number.isFinite(value) ? null : "infinity";
    case "object":
      return value === null ? null : checkContainer(walk, value, depth + 1);
    case "bigint":
    case "undefined":
    case "function":
    case "symbol":
      return typeof value as "bigint" | "undefined" | "function" | "symbol";
  }
}

function checkString(walk: Walk, text: string): Code {
  walk.leastBytes += text.length;
  if (walk.leastBytes > jsonSizeLimitBytes) return "too_large";
  if (text.isWellFormed()) return null;
  return /[\udc00-\udfff][\ud800-\udbff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "--"))
    ? "reversed_surrogates"
    : "lone_surrogate";
}

/** Kinds that a serialiser turns into something else. A proxy may answer differently each time it is asked. */
const foreignKinds: readonly (readonly [Exclude<Code, null>, (value: object) => boolean])[] = [
  ["proxy", types.isProxy],
  ["date", types.isDate],
  ["map", types.isMap],
  ["set", types.isSet],
  ["typed_array", ArrayBuffer.isView],
  ["typed_array", types.isAnyArrayBuffer],
  ["boxed", types.isBoxedPrimitive],
];

function foreignKind(value: object): Code {
  const known = foreignKinds.find(([, isKind]) => isKind(value));
  if (known !== undefined) return known[0];
  // `in` and the descriptor, not a plain read: a getter must not run.
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (typeof Object.getOwnPropertyDescriptor(value, "toJSON")?.value === "function") return "to_json";
  if (prototype !== null && "toJSON" in prototype) return "to_json";
  const isPlain = Array.isArray(value)
    ? prototype === Array.prototype
    : prototype === Object.prototype || prototype === null;
  return isPlain ? null : "foreign_prototype";
}

function checkContainer(walk: Walk, value: object, depth: number): Code {
  if (depth > jsonDepthLimit) return "too_deep";
  const foreign = foreignKind(value);
  if (foreign !== null) return foreign;
  const keys = Reflect.ownKeys(value).filter((key) => key !== "length" || !Array.isArray(value));
  if (Array.isArray(value) && keys.length < value.length) return "sparse_array";
  for (const key of keys) {
    const code = checkMember(walk, value, key, depth);
    if (code === null) continue;
    const step = String(key).replaceAll("~", "~0").replaceAll("/", "~1");
    walk.position = `/${step}${walk.position ?? ""}`;
    return code;
  }
  return null;
}

function checkMember(walk: Walk, owner: object, key: string | symbol, depth: number): Code {
  if (typeof key === "symbol") return "symbol";
  if (key === "__proto__") return "proto_key";
  const property = Object.getOwnPropertyDescriptor(owner, key);
  if (property === undefined || property.get !== undefined || property.set !== undefined) return "getter";
  if (property.enumerable !== true) return "hidden_property";
  if (!Array.isArray(owner)) return checkString(walk, key) ?? checkNode(walk, property.value, depth);
  return /^\d+$/.test(key) ? checkNode(walk, property.value, depth) : "hidden_property";
}

/**
 * The canonical form, RFC 8785 in UTF-8: what is hashed and signed (AUD-13). The gate stands before it: a value that it
 * refuses is a bug of the caller, who asks `checkPlainValue` or `parseStrictJson` first where the value is a stranger's.
 */
export function canonicalBytes(value: JsonValue): Uint8Array {
  const refusal = checkPlainValue(value);
  if (refusal !== null) throw new Error(`not plain JSON: \`${refusal.code}\` at \`${refusal.position}\``);
  const bytes = Buffer.from(canonicalize(value) ?? "");
  if (bytes.byteLength > jsonSizeLimitBytes) throw new Error("not plain JSON: `too_large`");
  return bytes;
}
