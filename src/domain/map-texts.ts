/** A copy of plain data with each string put through a function; the names of fields stay. */
export function mapTexts<Value>(value: Value, map: (text: string) => string): Value {
  return mapped(value, map) as Value;
}

function mapped(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, map));
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapped(inner, map)]));
}
