import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type ScriptedModel, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { lostSpans } from "../../src/ledger/index.ts";
import { type Countersign, type Ended, openCountersign } from "../support/countersign.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  resourceSpansIn,
  spansIn,
  startOtlpReceiver,
  taken,
} from "../support/otlp-receiver.ts";
import { RunReport, readJson, Verified } from "../support/run-report.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let countersign: Countersign;
let model: ScriptedModel;
let receiver: OtlpReceiver;
let repository: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  model = await startScriptedModel({ clock: Date.now });
  receiver = await startOtlpReceiver();
  repository = join(countersign.folder, "sample");
  const { issue } = await writeSampleRepository(repository, new AbortController().signal);
  writeFileSync(join(countersign.folder, "issue.md"), issue);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

const run = (): Promise<Ended> =>
  countersign.inProcess(["run", "--repo", repository, "--issue", "issue.md", "--json"], {
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_MODEL: model.model,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_SERVICE_NAME: "countersign-test",
  });

const attributeOf = (span: ReceivedSpan, key: string): unknown => {
  const value = span.attributes.find((attribute) => attribute.key === key)?.value;
  return value === undefined ? undefined : Object.values(value)[0];
};
const isAction = ({ name }: ReceivedSpan): boolean => name.startsWith("countersign.action ");

describe("a run with a receiver of traces", () => {
  let report: RunReport;
  let spans: readonly ReceivedSpan[];

  beforeAll(async () => {
    const ended = await run();
    expect(ended.exitCode, ended.stderr).toBe(0);
    report = readJson(RunReport, ended);
    spans = receiver.requests.flatMap(spansIn);
  });

  it("sends one whole tree under the run's trace id, each span once", () => {
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);

    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([report.trace_id]));
    expect(ids.size).toBe(spans.length);
    expect(roots.map(({ name, kind }) => [name, kind])).toEqual([["RUN countersign", 2]]);
    for (const { name, parentSpanId } of spans) {
      expect(parentSpanId === undefined || ids.has(parentSpanId), name).toBe(true);
    }
    const names = new Set(spans.map(({ name }) => name));
    for (const name of ["prepare", "verify", "invoke_agent countersign", `chat ${model.model}`, "settle"])
      expect(names).toContain(name);
  });

  it("names the digest of each action as the report does, and no tool span for what was not done", () => {
    const told = report.actions.map(({ action_id, arguments_digest }) => [action_id, arguments_digest]);
    const traced = spans
      .filter(isAction)
      .map((span) => [attributeOf(span, "countersign.action.id"), attributeOf(span, "countersign.arguments.digest")]);

    expect(new Map(traced as [string, string][])).toEqual(new Map(told as [string, string][]));
    for (const action of spans.filter(isAction)) {
      const below = spans.filter(({ parentSpanId }) => parentSpanId === action.spanId).map(({ name }) => name);
      const wasDone = attributeOf(action, "countersign.action.state") === "succeeded";
      expect(below.some((name) => name.startsWith("execute_tool "))).toBe(wasDone);
    }
    const denied = spans.find((span) => isAction(span) && attributeOf(span, "countersign.outcome") === "denied");
    expect(denied?.status.code).toBe(0);
    const authorize = spans.find(
      ({ name, parentSpanId }) => name === "countersign.authorize" && parentSpanId === denied?.spanId,
    );
    expect(JSON.stringify(authorize?.attributes)).toContain("floor:github_workflows");
  });

  it("tells nothing of what was worked on: no word of the issue, no path, no content, no command", () => {
    const sent = receiver.requests.map(({ body }) => body.toString()).join("\n");

    for (const word of [
      "hours.js",
      "workflows/",
      "jobs:",
      "README",
      "node --test",
      "npm test",
      "sample",
      "clock",
      "/src",
    ])
      expect(sent).not.toContain(word);
    expect(sent).not.toMatch(/booking|closing time|fitsInto|18:00|export function/i);
  });

  it("belongs to the configured service and to the run", () => {
    const [resource] = receiver.requests.flatMap(resourceSpansIn);

    expect(resource?.resource.attributes).toEqual(
      expect.arrayContaining([
        { key: "service.name", value: { stringValue: "countersign-test" } },
        { key: "cicd.pipeline.run.id", value: { stringValue: report.run_id } },
      ]),
    );
  });

  it("leads back by its id to the actions, and leaves the ledger verified", async () => {
    const found = await countersign.inProcess(["audit", "find", "--trace", report.trace_id, "--json"]);
    const verified = readJson(Verified, await countersign.inProcess(["audit", "verify", "--json"]));

    const ids = z.array(z.object({ action_id: z.string() })).parse(JSON.parse(found.stdout));
    expect(ids.map(({ action_id }) => action_id).toReversed()).toEqual(
      report.actions.map(({ action_id }) => action_id),
    );
    expect(verified).toMatchObject({ ok: true, findings: [] });
    expect(countersign.store && (await lostSpans(countersign.store.db))).toMatchObject({ pending: 0, lost: 0 });
  });
});

describe("a run whose receiver does not take the spans", () => {
  it("ends as it would, says so once, and the next run sends them", async () => {
    receiver.answer(() => ({ status: 503 }));

    const ended = await run();
    const kept = countersign.store && (await lostSpans(countersign.store.db));
    receiver.answer(() => taken);
    const next = await run();

    expect(ended.exitCode, ended.stderr).toBe(0);
    expect(
      ended.stderr.match(/the trace receiver at 127\.0\.0\.1:\d+ did not take the spans \(status_503\)/g),
    ).toHaveLength(1);
    expect(kept?.pending).toBeGreaterThan(20);
    expect(kept?.lost).toBe(0);
    expect(next.stderr).not.toContain("trace receiver");
    expect(countersign.store && (await lostSpans(countersign.store.db))).toMatchObject({ pending: 0, lost: 0 });
  });

  it("is told of a protocol that can't be served before anything begins", async () => {
    const ended = await countersign.command(["runs", "list"], { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toMatch(
      /^countersign: OTEL_EXPORTER_OTLP_PROTOCOL: got `grpc`, expected [^\n]+\[CONFIG_INVALID\]\n$/,
    );
  });
});
