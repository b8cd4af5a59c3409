import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createCatalogue } from "../../src/gateway/catalogue.ts";
import { inputSchema, modelTools, toolSchemas } from "../../src/gateway/tool-schemas.ts";

const catalogue = createCatalogue();
const actions = [...catalogue.values()];
const folder = join(import.meta.dirname, "../../tools_schemas");

type Schema = {
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly additionalProperties?: unknown;
  readonly [key: string]: unknown;
};
const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Every schema inside a schema, itself included. */
function* parts(value: unknown): Generator<Schema> {
  if (Array.isArray(value)) for (const item of value) yield* parts(item);
  if (!isObject(value)) return;
  yield value;
  for (const item of Object.values(value)) yield* parts(item);
}

/** Name and schema of every property, nested ones included. */
const properties = (schema: unknown): readonly (readonly [string, Schema])[] =>
  [...parts(schema)].flatMap((part) =>
    isObject(part.properties) ? (Object.entries(part.properties) as [string, Schema][]) : [],
  );

const isNumeric = (schema: Schema): boolean =>
  [...parts(schema)].some((part) => [part.type].flat().some((type) => type === "number" || type === "integer"));

describe("the catalogue", () => {
  it("offers the tools of the outer contract, and keeps the host's own to the host", () => {
    expect(modelTools(catalogue).map((tool) => tool.function.name)).toEqual([
      "read_file",
      "search_text",
      "find_files",
      "edit_file",
      "create_file",
      "delete_file",
      "run_command",
      "run_tests",
      "finish",
    ]);
    expect(catalogue.get("run_verification")?.description).toBeNull();
  });

  it("costs at most 2,500 tokens at 3.5 characters each (ACI-15)", () => {
    expect(JSON.stringify(modelTools(catalogue)).length).toBeLessThanOrEqual(8_750);
  });

  it.each(actions.map((action) => [action.name, action] as const))(
    "keeps %s in the subset of every strict mode (ACI-16)",
    (_name, action) => {
      const schema = inputSchema(action);

      for (const part of parts(schema)) {
        expect(Object.keys(part)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/^(?:allOf|not|if|oneOf|default|\$ref)$/)]),
        );
        if (part.type !== "object" || !isObject(part.properties)) continue;
        expect(part.additionalProperties).toBe(false);
        expect(part.required).toEqual(Object.keys(part.properties));
      }
      expect(schema).toMatchObject({ type: "object" });
    },
  );

  it("accepts a missing optional field as null, and no unknown field", () => {
    const search = catalogue.get("search_text")?.Arguments;

    expect(search?.parse({ pattern: "x" })).toEqual({ pattern: "x", path: null, include: null, context_lines: null });
    expect(search?.safeParse({ pattern: "x", file: "a" }).success).toBe(false);
  });

  it.each(actions.map((action) => [action.name, action] as const))(
    "names the unit in every numeric record field of %s (ACI-3)",
    (_name, action) => {
      const numeric = properties(z.toJSONSchema(action.Record)).filter(
        ([, schema]) => isNumeric(schema) && schema.type !== "object",
      );
      const names = numeric.map(([name]) => name).filter((name) => name !== "arguments" && name !== "next");

      expect(names.length).toBeGreaterThan(5);
      for (const name of names)
        expect(name).toMatch(/(?:_ms|_s|_bytes|_px|_tokens|_lines|_count)$|^(?:exit_code|line_from|line_to)$/);
    },
  );

  it.each(actions.map((action) => [action.name, action] as const))(
    "gives %s the common record fields (ACI-4)",
    (_name, action) => {
      const names = properties(z.toJSONSchema(action.Record)).map(([name]) => name);

      expect(names).toEqual(
        expect.arrayContaining(
          "status tool action_id started_at duration_ms total_lines shown_lines omitted_lines total_bytes errors_count errors_shown_count clipped_lines next replayed".split(
            " ",
          ),
        ),
      );
    },
  );

  it("wants an explicit offset in times", () => {
    const time = z.iso.datetime({ offset: true });

    expect(time.safeParse("2026-01-01T00:00:00").success).toBe(false);
    expect(time.safeParse("2026-01-01T00:00:00.000Z").success).toBe(true);
  });

  it("equals what is committed in tools_schemas (ACI-17)", () => {
    const generated = toolSchemas();

    expect(readdirSync(folder).toSorted()).toEqual([...generated.keys()].toSorted());
    for (const [file, text] of generated) expect(readFileSync(join(folder, file), "utf8")).toBe(text);
  });

  it("has a reason for every action (SEC-2)", () => {
    for (const action of actions) expect(action.reason.length).toBeGreaterThan(20);
  });
});
