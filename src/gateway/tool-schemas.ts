import { z } from "zod";
import type { JsonObject, JsonValue } from "../domain/index.ts";
import { type AnyAction, type Catalogue, createCatalogue } from "./catalogue.ts";

/** A tool as an OpenAI-compatible server takes it. */
export type ModelTool = {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject };
};

/** Left out on the wire: they are checked by us in any case, and not every strict mode takes them (ACI-16). */
const unsupported: ReadonlySet<string> = new Set(["$schema", "default", "minLength", "maxLength"]);

const isSafeBound = (key: string, value: unknown): boolean =>
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER) || (key === "minimum" && value === Number.MIN_SAFE_INTEGER);

/** The arguments' schema in the subset that every strict mode takes: all fields required, optional is nullable (ACI-16). */
export function inputSchema(action: AnyAction): JsonObject {
  return plain(z.toJSONSchema(action.Arguments, { io: "output" }), unsupported) as JsonObject;
}

const outputSchema = (action: AnyAction): JsonObject =>
  plain(z.toJSONSchema(action.Record, { io: "output" }), new Set(["$schema"])) as JsonObject;

function plain(value: unknown, dropped: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) return value.map((item) => plain(item, dropped));
  if (typeof value !== "object" || value === null) return value as JsonValue;
  const kept = Object.entries(value).filter(([key, item]) => !dropped.has(key) && !isSafeBound(key, item));
  return flattened(Object.fromEntries(kept.map(([key, item]) => [key, plain(item, dropped)])));
}

/** `anyOf` of one simple type and null becomes a list of types: shorter, and understood by all. */
function flattened(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  const [first, second] = Array.isArray(anyOf) && anyOf.length === 2 ? (anyOf as readonly JsonObject[]) : [];
  const type = typeOf(first);
  if (first === undefined || type === null || typeOf(second) !== "null" || "enum" in first) return schema;
  return { ...rest, ...first, type: [type, "null"] };
}

function typeOf(schema: JsonObject | undefined): string | null {
  const { type } = schema ?? {};
  return typeof type === "string" ? type : null;
}

/** The tools offered to a model, in the catalogue's order; `names` narrows them (ACI-98). */
export function modelTools(catalogue: Catalogue, names: ReadonlySet<string> | null = null): readonly ModelTool[] {
  return [...catalogue.values()].flatMap((action) =>
    action.description === null || names?.has(action.name) === false
      ? []
      : [
          {
            type: "function",
            function: { name: action.name, description: action.description, parameters: inputSchema(action) },
          },
        ],
  );
}

/** What stands in `tools_schemas/`, by file name: the text of each file (ACI-17, SEC-2). Pure. */
export function toolSchemas(): ReadonlyMap<string, string> {
  return new Map([...createCatalogue().values()].map((action) => [`${action.name}.json`, schemaText(action)]));
}

function schemaText(action: AnyAction): string {
  const schema = {
    name: action.name,
    offered_to: action.description === null ? "host" : "model",
    description: action.description,
    reason: action.reason,
    group: action.group,
    risk: action.risk,
    input_schema: inputSchema(action),
    output_schema: outputSchema(action),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
