import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ActionState, actionStates, type NewEntry, type TraceId } from "../../../src/domain/index.ts";
import { spansOf, type TraceSpan } from "../../../src/ledger/index.ts";
import { deriveBatch, type Traces } from "../../../src/ledger/trace/derive-spans.ts";
import { commonAttributes, resourceAttributes, spanForms } from "../../../src/ledger/trace/names.ts";
import { actionEntries, actionIdOf, aRunId, endedRun, placed, plantedWord } from "../../support/histories.ts";
import { anEntry } from "../../support/test-ledger.ts";

const mac = (parts: readonly string[]): string =>
  createHmac("sha256", "key").update(JSON.stringify(parts)).digest("hex");
const ids = {
  traceId: (runId: string) => mac(["trace", runId]).slice(0, 32) as TraceId,
  spanId: (...parts: readonly string[]) => mac(["span", ...parts]).slice(0, 16),
};
const derive = (entries: readonly NewEntry[]): readonly TraceSpan[] => spansOf(ids, placed(entries));

const started = anEntry(aRunId, { type: "run", evidence: { status: "in_progress" } });
const completed = (evidence: Record<string, string> = { conclusion: "success", stopReason: "finished" }): NewEntry =>
  anEntry(aRunId, { type: "run", evidence: { status: "completed", ...evidence } });
const phase = (name: string, attempt = 0): NewEntry =>
  anEntry(aRunId, { type: "run", attempt, evidence: { phase: name } });
const action = (...states: readonly ActionState[]): readonly NewEntry[] => actionEntries({ number: 1, states });

/** The tree as names, children below their parent in the order of completion. */
function tree(spans: readonly TraceSpan[], parentId: string | null = null): readonly unknown[] {
  const children = spans.filter((span) => span.parentId === parentId);
  return children.map((span) => {
    const below = tree(spans, span.spanId);
    return below.length === 0 ? span.name : [span.name, ...below];
  });
}
const named = (spans: readonly TraceSpan[], name: string): TraceSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(", ")}`);
  return found;
};

/** Which of the forms a span has: by its name, and it must be one alone. */
function formOf(span: TraceSpan) {
  const forms = Object.values(spanForms).filter(({ name }) => name.test(span.name));
  expect(
    forms.map(({ name }) => name),
    span.name,
  ).toHaveLength(1);
  return forms[0] ?? spanForms.root;
}

const types = {
  string: (value: unknown) => typeof value === "string",
  int: (value: unknown) => Number.isSafeInteger(value),
  strings: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === "string"),
};

function checkForm(span: TraceSpan): void {
  const form = formOf(span);
  const attributes: Readonly<Record<string, keyof typeof types>> = { ...commonAttributes, ...form.attributes };
  expect(span.kind, span.name).toBe(form.kind);
  for (const [name, value] of Object.entries(span.attributes)) {
    const type = attributes[name];
    expect(type, `${name} on ${span.name}`).toBeDefined();
    expect(type !== undefined && types[type](value), `${name} = ${value}`).toBe(true);
  }
  for (const name of Object.keys(commonAttributes)) expect(span.attributes).toHaveProperty([name]);
  expect(Object.keys(resourceAttributes)).toEqual(expect.arrayContaining(Object.keys(span.resource)));
}

describe("the spans of any legal history", () => {
  it("make one tree: one root, every parent is there, every id is there once, and no span ends before it began", () => {
    fc.assert(
      fc.property(endedRun, (entries) => {
        const spans = derive(entries);

        const spanIds = new Set(spans.map(({ spanId }) => spanId));
        expect(spanIds.size).toBe(spans.length);
        expect(spans.filter(({ parentId }) => parentId === null).map(({ name }) => name)).toEqual(["RUN countersign"]);
        for (const span of spans) {
          expect(span.parentId === null || spanIds.has(span.parentId), span.name).toBe(true);
          expect(span.startMs).toBeLessThanOrEqual(span.endMs);
          expect(span.traceId).toBe(ids.traceId(aRunId));
        }
        const reached = (parentId: string | null): number =>
          spans.filter((span) => span.parentId === parentId).reduce((sum, { spanId }) => sum + 1 + reached(spanId), 0);
        expect(reached(null)).toBe(spans.length);
      }),
    );
  });

  it("are the same again, and the same in whatever steps they are derived", () => {
    fc.assert(
      fc.property(endedRun, fc.array(fc.nat(80), { maxLength: 6 }), (entries, cuts) => {
        const log = placed(entries);
        const places = [0, ...cuts.map((cut) => cut % (log.length + 1)).sort((one, other) => one - other), log.length];
        let traces: Traces = new Map();
        const inSteps = places.slice(1).flatMap((end, at) => {
          const derived = deriveBatch(ids, traces, log.slice(places[at], end));
          traces = derived.traces;
          return derived.spans;
        });

        expect(inSteps).toEqual(spansOf(ids, log));
      }),
    );
  });

  it("have the names, kinds and attributes of the pinned conventions and no others (AUD-75)", () => {
    fc.assert(fc.property(endedRun, (entries) => derive(entries).forEach(checkForm)));
  });

  it("hold no text of the entries (AUD-76)", () => {
    fc.assert(
      fc.property(endedRun, (entries) => {
        expect(JSON.stringify(derive(entries))).not.toContain(plantedWord);
      }),
    );
  });

  it("are completed by each entry in its turn: a longer log only adds to what a shorter one gave", () => {
    fc.assert(
      fc.property(endedRun, fc.nat(80), (entries, length) => {
        const log = placed(entries);
        const shorter = spansOf(ids, log.slice(0, length));

        expect(spansOf(ids, log).slice(0, shorter.length)).toEqual(shorter);
      }),
    );
  });

  it("give each action exactly one span of its own, and a digest on it", () => {
    fc.assert(
      fc.property(endedRun, (entries) => {
        const proposed = entries.filter(({ state }) => state === "proposed").map(({ actionId }) => actionId);
        const own = derive(entries).filter(({ name }) => name.startsWith("countersign.action "));

        expect(own.map(({ attributes }) => attributes["countersign.action.id"]).sort()).toEqual(proposed.sort());
        for (const { attributes } of own) expect(attributes["countersign.arguments.digest"]).toMatch(/hmac-sha256:/);
      }),
    );
  });

  it("give each decision its authorize span and each start that ended its tool span (AUD-74)", () => {
    fc.assert(
      fc.property(endedRun, (entries) => {
        const spans = derive(entries);
        const count = (name: string): number => spans.filter((span) => span.name === name).length;

        expect(count("countersign.authorize")).toBe(entries.filter(({ type }) => type === "decision").length);
        const ends = new Set<string | null>(["succeeded", "failed_definite", "unknown"]);
        expect(count("execute_tool read_file")).toBe(entries.filter(({ state }) => ends.has(state)).length);
      }),
    );
  });
});

describe("the tree of a run", () => {
  it("has phases under the root, the model's turns and actions under the agent, and acts under the action", () => {
    const turn = anEntry(aRunId, {
      evidence: {
        answered: true,
        requestModel: "some/model-1",
        usage: { inputTokens: 10, outputTokens: 2 },
        serverAddress: "127.0.0.1",
        serverPort: 8080,
      },
    });
    const spans = derive([
      started,
      phase("prepare"),
      phase("verify_before"),
      phase("work"),
      turn,
      ...action("proposed", "authorized", "intent_recorded", "started", "succeeded"),
      phase("verify_after"),
      phase("publish"),
      phase("settle"),
      completed(),
    ]);

    expect(tree(spans)).toEqual([
      [
        "RUN countersign",
        "prepare",
        "verify",
        [
          "invoke_agent countersign",
          "chat some/model-1",
          [
            "countersign.action read_file",
            "countersign.parse",
            "countersign.authorize",
            "countersign.validate",
            "execute_tool read_file",
          ],
        ],
        "verify",
        "publish",
        "settle",
      ],
    ]);
    expect(named(spans, "invoke_agent countersign").attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 2,
    });
    expect(named(spans, "chat some/model-1").attributes).toMatchObject({
      "server.address": "127.0.0.1",
      "server.port": 8080,
    });
    expect(named(spans, "RUN countersign")).toMatchObject({
      errorCode: null,
      attributes: { "cicd.pipeline.result": "success", "cicd.pipeline.action.name": "RUN" },
    });
  });

  it("has no tool span for a denial, which is no error, and neither decision nor tool for what did not parse", () => {
    const refused = anEntry(aRunId, {
      type: "action",
      actionId: actionIdOf(2),
      state: "invalid",
      evidence: { stage: "parse", code: "duplicate_key", argumentsDigest: "raw:hmac-sha256:11" },
    });
    const [proposal] = actionEntries({ number: 2, states: ["proposed"] });
    const spans = derive([
      started,
      ...action("proposed", "denied"),
      ...(proposal ? [proposal] : []),
      refused,
      completed(),
    ]);

    expect(tree(spans)).toEqual([
      [
        "RUN countersign",
        ["countersign.action read_file", "countersign.parse", "countersign.authorize"],
        ["countersign.action read_file", "countersign.parse"],
      ],
    ]);
    expect(spans.map(({ errorCode }) => errorCode)).toEqual(spans.map(() => null));
    const [denied, invalid] = spans.filter(({ name }) => name === "countersign.action read_file");
    expect(denied?.attributes).toMatchObject({ "countersign.outcome": "denied", "countersign.action.state": "denied" });
    expect(invalid?.attributes).toMatchObject({
      "countersign.outcome": "parse:duplicate_key",
      "countersign.arguments.digest": "raw:hmac-sha256:11",
    });
  });

  it("shows the question to a person and the answer", () => {
    const spans = derive([started, ...action("proposed", "approval_pending", "approval_refused"), completed()]);

    expect(named(spans, "countersign.approval").attributes).toMatchObject({
      "countersign.approval.result": "refused",
      "countersign.approval.channel": "terminal",
    });
  });

  it("links what looked into a lost outcome to the try that it looked into", () => {
    const lost = ["proposed", "authorized", "intent_recorded", "started", "unknown", "reconciling"] as const;
    const spans = derive([started, ...action(...lost, "reconciled_not_applied", "started", "succeeded"), completed()]);

    const tries = spans.filter(({ name }) => name === "execute_tool read_file");
    expect(tries.map(({ attributes, errorCode }) => [attributes["countersign.try"], errorCode])).toEqual([
      [1, "reset"],
      [2, null],
    ]);
    expect(named(spans, "countersign.reconcile")).toMatchObject({
      links: [tries[0]?.spanId],
      attributes: { "countersign.reconcile.result": "not_applied", "countersign.reconcile.round": 1 },
    });
    expect(named(spans, "countersign.action read_file").attributes["countersign.outcome"]).toBe("ok");
  });

  it("makes the root an error while an outcome is unknown, whatever the conclusion", () => {
    const states = ["proposed", "authorized", "intent_recorded", "started", "unknown"] as const;
    const spans = derive([started, ...action(...states), completed()]);

    expect(named(spans, "RUN countersign")).toMatchObject({
      errorCode: "unknown",
      attributes: { "cicd.pipeline.result": "error", "error.type": "unknown" },
    });
    expect(named(spans, "countersign.action read_file").attributes).toMatchObject({
      "countersign.action.state": "unknown",
      "countersign.outcome": "unknown",
    });
  });

  it("goes on after a crash in the same trace, under a span linked to the last one recorded", () => {
    const spans = derive([
      started,
      phase("verify_before"),
      phase("work"),
      anEntry(aRunId, { type: "run", attempt: 1, evidence: { phase: "settle" } }),
      { ...completed({ conclusion: "failure", cause: "crash" }), attempt: 1 },
    ]);

    expect(tree(spans)).toEqual([["RUN countersign", "verify", "invoke_agent countersign", ["resume", "settle"]]]);
    expect(named(spans, "resume")).toMatchObject({
      attributes: { "countersign.run.attempt": 1 },
      links: [named(spans, "verify").spanId],
    });
    expect(named(spans, "RUN countersign")).toMatchObject({ errorCode: "crash" });
  });

  it.each([
    ["success", "success", null],
    ["neutral", "skip", null],
    ["cancelled", "cancellation", null],
    ["failure", "failure", "stuck"],
    ["timed_out", "timeout", "stuck"],
    ["action_required", "failure", "stuck"],
  ])("tells the conclusion %s as %s", (conclusion, result, errorCode) => {
    const spans = derive([started, completed({ conclusion, stopReason: "stuck" })]);

    expect(named(spans, "RUN countersign")).toMatchObject({
      errorCode,
      attributes: { "cicd.pipeline.result": result },
    });
  });

  it("fails the phase whose verification does not please", () => {
    const moves = action("proposed", "authorized", "intent_recorded", "started", "succeeded").map((entry) => {
      if (entry.state === "proposed") return { ...entry, evidence: { ...entry.evidence, tool: "run_verification" } };
      return entry.state === "succeeded" ? { ...entry, evidence: { status: "failed", code: null } } : entry;
    });
    const spans = derive([started, phase("verify_before"), ...moves, phase("work"), completed()]);

    expect(named(spans, "verify").attributes["cicd.pipeline.task.run.result"]).toBe("failure");
  });

  it("can begin and end in every state", () => {
    expect(
      new Set(actionStates.map((state) => derive([started, ...action("proposed", state), completed()]).length)),
    ).not.toContain(0);
  });
});
