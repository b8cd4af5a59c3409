import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newActionId, newRunId, type ProposedAction } from "../../src/domain/index.ts";
import { createCatalogue, perform } from "../../src/gateway/index.ts";
import { parse } from "../../src/gateway/parse.ts";
import { showRun } from "../../src/ledger/index.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { aCall, call, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { sampleArguments } from "../support/sample-arguments.ts";

const catalogue = createCatalogue();
const ids = { clock: () => 0, randomBytes: (count: number) => new Uint8Array(count) };
const runId = newRunId(ids);

const propose = (tool: string, rawArguments: string, isSystem = false): ProposedAction => ({
  actionId: newActionId(ids),
  runId,
  principal: isSystem ? { kind: "system" } : { kind: "run", runId },
  tool,
  rawArguments,
  call: null,
  compensates: null,
});
const parseCall = (tool: string, rawArguments: string) => parse(catalogue, propose(tool, rawArguments));
const refusedBy = (tool: string, rawArguments: string) => {
  const parsed = parseCall(tool, rawArguments);
  if (parsed.kind === "parsed") throw new Error("it was taken");
  return parsed;
};
const model = [...catalogue.values()].filter(({ description }) => description !== null);

/** The gate's codes, each by the smallest text (AUD-14, C-7). */
const gateCases: readonly (readonly [string, string])[] = [
  ["duplicate_key", '{"path":"a","path":"b"}'],
  ["proto_key", '{"path":"a","__proto__":{"admin":true}}'],
  ["lone_surrogate", '{"path":"\\uD800"}'],
  ["lone_surrogate", '{"path":"\ud800 "}'],
  ["reversed_surrogates", '{"path":"\\ude00\\ud83d"}'],
  ["integer_out_of_range", '{"path":"a","line_from":9007199254740993}'],
  ["number_overflow", '{"path":"a","line_from":1e999}'],
  ["too_deep", `{"path":${"[".repeat(70)}${"]".repeat(70)}}`],
  ["too_large", `{"path":"${"a".repeat(1_100_000)}"}`],
  ["not_json", '{"path":NaN}'],
  ["not_json", "{'path':'a'}"],
  ["not_json", '{"path":"a"} {"path":"b"}'],
  ["not_json", '{"path":"a",}'],
  ["not_json", '\ufeff{"path":"a"}'],
];

/** What fits no schema (AT-16), and the place that is told. */
const schemaCases: readonly (readonly [string, string, string])[] = [
  ["read_file", '{"path":"a","sudo":true}', "unknown field"],
  ["read_file", '{"path":"a","constructor":1}', "unknown field"],
  ["read_file", "{}", "path"],
  ["read_file", '{"path":7}', "path"],
  ["read_file", '{"path":["a"]}', "path"],
  ["read_file", '{"path":""}', "path"],
  ["read_file", `{"path":"${"a".repeat(5_000)}"}`, "path"],
  ["read_file", '{"path":"a","line_from":"1"}', "line_from"],
  ["read_file", '{"path":"a","line_from":1.5}', "line_from"],
  ["read_file", '{"path":"a","line_from":0}', "line_from"],
  ["edit_file", '{"path":"a","edits":[]}', "edits"],
  ["edit_file", '{"path":"a","edits":[{"anchor":"x"}]}', "edits.0.replacement"],
  ["edit_file", '{"path":"a","edits":[{"anchor":"x","replacement":"y","all":true}]}', "unknown field"],
  ["run_command", '{"command":"ls","timeout_s":100000}', "timeout_s"],
  ["finish", '{"summary":"","title":"t"}', "summary"],
  ["read_file", "null", ""],
  ["read_file", "[]", ""],
  ["read_file", '"path"', ""],
];

describe("parse", () => {
  it.each(gateCases)("refuses a text for the gate's own reason: %s", (code, raw) => {
    const refused = refusedBy("read_file", raw);

    expect(refused.code).toBe(code);
    expect(refused.position).toMatch(/^offset \d+$/);
    expect(refused.refusal.code).toBe("invalid_arguments");
  });

  it.each(schemaCases)("refuses what the schema of %s does not take: %.60s (AT-16)", (tool, raw, position) => {
    const refused = refusedBy(tool, raw);

    expect(refused).toMatchObject({ stage: "parse", code: "invalid_arguments", position });
  });

  it("takes what fits, with defaults, and nothing removed (AUD-12)", () => {
    const parsed = parseCall("read_file", ' {"line_from": 3, "path": "a"} ');

    expect(parsed).toMatchObject({ kind: "parsed", arguments: { path: "a", line_from: 3, line_count: null } });
    expect(parsed.kind === "parsed" && Buffer.from(parsed.canonical).toString()).toBe(
      '{"line_count":null,"line_from":3,"path":"a"}',
    );
  });

  it("normalises no text: two spellings of one letter are two arguments (AUD-14)", () => {
    const canonicalOf = (path: string) => {
      const parsed = parseCall("read_file", JSON.stringify({ path }));
      return parsed.kind === "parsed" ? Buffer.from(parsed.canonical).toString() : "";
    };

    expect(canonicalOf("caf\u00e9")).not.toBe(canonicalOf("cafe\u0301"));
  });

  it("tells unknown tool, malformed call and truncated call apart, each with place and reason (ACI-65, AT-16)", () => {
    const unknown = refusedBy("raed_file", '{"path":"a"}');
    const malformed = refusedBy("read_file", '{"path":a}');
    const truncated = refusedBy("read_file", '{"path":"src/a');

    expect([unknown.code, malformed.code, truncated.code]).toEqual(["unknown_tool", "not_json", "truncated_call"]);
    expect(new Set([unknown, malformed, truncated].map(({ refusal }) => refusal.code)).size).toBe(3);
    expect(unknown.refusal.example).toEqual({
      tool: "read_file",
      arguments: { path: "a", line_from: null, line_count: null },
    });
    expect(malformed).toMatchObject({
      position: "offset 8",
      refusal: { allowed: expect.stringContaining("offset 8") },
    });
    expect(truncated.refusal.remedy).toContain("smaller pieces");
  });

  it("takes every proper beginning of a call for truncated, wherever it was cut", () => {
    const argumentsText = fc.record({
      command: fc.string({ unit: "grapheme", minLength: 1 }),
      timeout_s: fc.option(fc.integer({ min: 1, max: 600 }), { nil: null }),
      on: fc.boolean(),
      share: fc.double({ noNaN: true, noDefaultInfinity: true }),
    });
    const escaped = (text: string) =>
      text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    fc.assert(
      fc.property(argumentsText, fc.nat(), (value, cut) => {
        const whole = escaped(JSON.stringify(value));
        const raw = whole.slice(0, cut % whole.length);

        expect(refusedBy("run_command", raw).code).toBe("truncated_call");
      }),
      { numRuns: 500 },
    );
  });

  it("knows no tool of the host's own where a model asks, and takes it from the host", () => {
    const raw = '{"stage":"before","command":"make test","timeout_s":60}';

    expect(refusedBy("run_verification", raw).code).toBe("unknown_tool");
    expect(refusedBy("run_verification", raw).refusal.allowed).not.toContain("run_verification");
    expect(parse(catalogue, propose("run_verification", raw, true)).kind).toBe("parsed");
  });

  it.each([
    "",
    "__proto__",
    "constructor",
    "toString",
    "Read_File",
    "read_file ",
    "read_file\0",
    "a".repeat(10_000),
    "\ud800",
  ])("knows no tool %j", (tool) => {
    expect(refusedBy(tool, "{}").code).toBe("unknown_tool");
  });

  it("every example that it gives is a call that it would take (ACI-13)", () => {
    const tool = fc.constantFrom(...model.map(({ name }) => name), "raed_file", "shell", "");
    const field = fc.constantFrom("path", "edits", "content", "command", "timeout_s", "pattern", "glob", "filter", "x");
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom("src/a.ts", [{ anchor: "a", replacement: "b" }], 3));
    fc.assert(
      fc.property(tool, fc.dictionary(field, value), (name, args) => {
        const parsed = parseCall(name, JSON.stringify(args));
        const example = parsed.kind === "refused" ? parsed.refusal.example : null;

        expect(parsed.kind === "parsed" || example !== null).toBe(true);
        const retried = example === null ? parsed : parseCall(example.tool, JSON.stringify(example.arguments));
        expect(retried.kind).toBe("parsed");
      }),
      { numRuns: 500 },
    );
  });

  it.each(model.map(({ name }) => name))("takes the sample calls of %s, with optional fields and without", (name) => {
    for (const args of sampleArguments(name)) expect(parseCall(name, JSON.stringify(args)).kind).toBe("parsed");
  });
});

describe("a hostile proposal through the whole gateway", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("is recorded with the gate's code, and never with an arguments commitment (C-7)", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));

    for (const [, raw] of gateCases) await call(gateway, run, "read_file", raw);
    const last = await call(gateway, run, "read_file", gateCases[0]?.[1]);
    const shown = await showRun(gateway.store, run.runId);
    const again = await gateway.readAgain(last.actionId);

    const codes = [...gateCases.map(([code]) => code), gateCases[0]?.[0]];
    expect(shown?.actions.map(({ event }) => event)).toEqual(
      codes.map((code) => ({
        actor: `run:${run.runId}`,
        action: "read_file",
        allowed: null,
        arguments_digest: expect.stringMatching(/^raw:hmac-sha256:/),
        outcome: `parse:${code}`,
      })),
    );
    expect(again.texts.arguments).toBeUndefined();
    expect(again.verification.findings).toEqual([]);
  });

  it.each([
    { name: "a character cut in two by our own quoting", raw: `{"path": ${" ".repeat(189)}😀` },
    { name: "half a character in the text", raw: '{"path": "\ud83d' },
    {
      name: "arguments as long as we take, with a field too many",
      raw: JSON.stringify({ command: "x".repeat(980_000), y: 1 }),
    },
    { name: "arguments as long as we take", raw: JSON.stringify({ command: "\u0001".repeat(163_000) }) },
    { name: "arguments of the gate's own limit", raw: JSON.stringify({ command: "x".repeat(1_048_576 - 15) }) },
    { name: "a field named half a character", raw: '{"\\ud83d": 1}' },
  ])("ends no run: $name", async ({ raw }) => {
    const run = await gateway.newRun(createFakeWorkspace({}));

    const outcome = await call(gateway, run, "run_command", raw);
    const { verification } = await gateway.readAgain(outcome.actionId);

    expect(["refused", "ok", "empty"]).toContain(outcome.status);
    expect(outcome.text.isWellFormed()).toBe(true);
    expect(verification.findings).toEqual([]);
  });

  it("ends no run where a ready call of ours would cut a character in two", async () => {
    const run = await gateway.newRun(createFakeWorkspace({}));

    const content = `${"x".repeat(1_999)}${"😀".repeat(20_000)}`;
    const outcome = await call(gateway, run, "create_file", { path: "a.txt", content });
    const { verification } = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "too_large" } });
    expect(JSON.stringify(outcome.record)).not.toMatch(/\\ud83d/);
    expect(verification.findings).toEqual([]);
  });

  it.each(["planted-tool", "\ud800planted", `${"x".repeat(127)}😀`, "planted tool with words"])(
    "keeps the name of an unknown tool sealed: %j",
    async (tool) => {
      const run = await gateway.newRun(createFakeWorkspace({}));
      const proposed = aCall(run, tool, "{}", {
        call: { toolCallId: "planted id", turn: 1, ordinal: 0, modelResponseId: "planted\nid" },
      });

      const outcome = await perform(gateway.deps, run, proposed, never);
      const again = await gateway.readAgain(outcome.actionId);
      const bodies = await gateway.store.sql<{ body: Uint8Array }>(
        "select body from ledger_entries where run_id = $1",
        [run.runId],
      );
      const clear = bodies.map(({ body }) => Buffer.from(body).toString()).join("\n");

      expect(outcome).toMatchObject({ tool, state: "invalid", refusal: { code: "unknown_tool" } });
      expect(again.action.event).toMatchObject({ action: "unknown_tool", outcome: "parse:unknown_tool" });
      expect(again.texts.tool).toBe(tool.toWellFormed());
      expect(clear).not.toContain("planted");
      expect(again.verification.findings).toEqual([]);
    },
  );
});
