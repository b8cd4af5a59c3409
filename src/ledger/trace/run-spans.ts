import type { Conclusion, LedgerEntry } from "../../domain/index.ts";
import { actionSpan } from "./action-spans.ts";
import { codeOf, integerOf, objectOf } from "./evidence.ts";
import { type Derived, type PhaseTrace, parentNow, type RunTrace, withRunFacts } from "./run-trace.ts";
import { spanOf, type TraceIds, type TraceSpan, timeMs } from "./span.ts";

/** Phases by their names in the ledger, and what their spans are called. A phase that is not listed has no span. */
const phaseForms: Readonly<Record<string, PhaseTrace["form"]>> = {
  prepare: "prepare",
  verify: "verify",
  verify_before: "verify",
  verify_after: "verify",
  work: "agent",
  publish: "publish",
  settle: "settle",
};
/** For the count of lost spans, which is made in SQL. */
export const phasesWithSpans: readonly string[] = Object.keys(phaseForms);

/** GitHub's conclusion as `cicd.pipeline.result` has it. */
const results: Readonly<Record<Conclusion, string>> = {
  success: "success",
  failure: "failure",
  cancelled: "cancellation",
  timed_out: "timeout",
  action_required: "failure",
  neutral: "skip",
};
const errorResults: ReadonlySet<string> = new Set(["failure", "error", "timeout"]);

const resultOf = (conclusion: string | null): string =>
  conclusion !== null && Object.hasOwn(results, conclusion) ? results[conclusion as Conclusion] : "error";

/** The first entry of a new attempt: what the lost worker left open ends where it was last heard of. */
export function deriveTakeover(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  if (entry.attempt <= trace.attempt || trace.isCompleted) return { trace, spans: [] };
  const at = { entry, endMs: trace.lastMs };
  const resume = {
    spanId: ids.spanId(trace.runId, "attempt", String(entry.attempt)),
    startMs: timeMs(entry),
    link: trace.lastSpanId,
  };
  return {
    trace: { ...trace, attempt: entry.attempt, resume, phase: null },
    spans: [...phaseSpan(trace, at, "error"), ...resumeSpan(trace, at)],
  };
}

/** A change of the run's status or phase. */
export function deriveRun(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  const known = withRunFacts(trace, entry);
  if (trace.isCompleted) return { trace: known, spans: [] };
  if (entry.evidence["status"] === "completed") return complete(ids, known, entry);
  const phase = codeOf(entry.evidence, "phase");
  if (phase === null) return { trace: known, spans: [] };
  const spans = phaseSpan(known, { entry, endMs: timeMs(entry) }, "success");
  const between = { ...known, phase: null };
  const form = Object.hasOwn(phaseForms, phase) ? phaseForms[phase] : undefined;
  if (form === undefined) return { trace: between, spans };
  const opened: PhaseTrace = {
    form,
    phase,
    entryId: entry.id,
    spanId: ids.spanId(entry.id),
    parentId: parentNow(between),
    startMs: timeMs(entry),
    hasFailed: false,
    inputTokens: 0,
    outputTokens: 0,
  };
  return { trace: { ...between, phase: opened }, spans };
}

type End = { readonly entry: LedgerEntry; readonly endMs: number };

function phaseSpan(trace: RunTrace, { entry, endMs }: End, result: string): readonly TraceSpan[] {
  const { phase } = trace;
  if (phase === null) return [];
  const { spanId, parentId, startMs } = phase;
  if (phase.form === "agent") {
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": provider,
      "gen_ai.agent.name": "countersign",
      "gen_ai.agent.version": trace.agentVersion,
      "gen_ai.usage.input_tokens": phase.inputTokens,
      "gen_ai.usage.output_tokens": phase.outputTokens,
    };
    return [spanOf(trace, entry, "agent", { spanId, parentId, startMs, endMs, attributes })];
  }
  const attributes = {
    "cicd.pipeline.task.name": phase.phase,
    "cicd.pipeline.task.run.id": phase.entryId,
    "cicd.pipeline.task.run.result": phase.hasFailed && result === "success" ? "failure" : result,
  };
  return [spanOf(trace, entry, phase.form, { spanId, parentId, startMs, endMs, attributes })];
}

function resumeSpan({ resume, ...trace }: RunTrace, { entry, endMs }: End): readonly TraceSpan[] {
  if (resume === null) return [];
  const { spanId, startMs, link } = resume;
  const links = link === null ? [] : [link];
  const attributes = { "countersign.run.attempt": trace.attempt };
  return [spanOf(trace, entry, "resume", { spanId, parentId: trace.rootId, startMs, endMs, links, attributes })];
}

/** The last entry of a run ends whatever is open: phase, attempt, actions that are not at their end, the root. */
function complete(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  const at = { entry, endMs: timeMs(entry) };
  const open = [...trace.actions.values()].filter(({ isClosed }) => !isClosed);
  const closed = new Map([...trace.actions].map(([id, action]) => [id, { ...action, isClosed: true }]));
  const result = resultOf(codeOf(entry.evidence, "conclusion"));
  return {
    trace: { ...trace, actions: closed, phase: null, resume: null, isCompleted: true },
    spans: [
      ...open.map((action) => actionSpan(ids, trace, action, entry)),
      ...phaseSpan(trace, at, trace.phase?.form === "settle" ? "success" : result),
      ...resumeSpan(trace, at),
      rootSpan(trace, entry, result),
    ],
  };
}

/** An outcome that nobody knows makes the whole run an error (AUD-74). */
const notKnown: ReadonlySet<string> = new Set(["unknown", "reconciling", "reconcile_inconclusive"]);

function rootSpan(trace: RunTrace, entry: LedgerEntry, result: string): TraceSpan {
  const { evidence } = entry;
  const hasUnknown = [...trace.actions.values()].some(({ state }) => notKnown.has(state));
  const stopReason = codeOf(evidence, "stopReason");
  const why = stopReason === null || stopReason === "finished" ? codeOf(evidence, "cause") : stopReason;
  const failure = errorResults.has(result) ? (why ?? codeOf(evidence, "conclusion") ?? result) : null;
  const errorCode = hasUnknown ? "unknown" : failure;
  return spanOf(trace, entry, "root", {
    spanId: trace.rootId,
    parentId: null,
    startMs: trace.startMs,
    errorCode,
    attributes: {
      "cicd.pipeline.result": hasUnknown ? "error" : result,
      "cicd.pipeline.action.name": "RUN",
      "error.type": errorCode,
      "countersign.issue.number": trace.issueNumber,
    },
  });
}

/** The protocol that every model server is spoken to in; who stands behind it is not known. */
const provider = "openai";

/** A model's answer. It was asked when the entry before it was durable (ACI-45). */
export function deriveTurn(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  const { evidence } = entry;
  if (evidence["answered"] !== true) return { trace, spans: [] };
  const usage = objectOf(evidence, "usage");
  const inputTokens = integerOf(usage, "inputTokens");
  const outputTokens = integerOf(usage, "outputTokens");
  const model = codeOf(evidence, "requestModel");
  const finishReason = codeOf(evidence, "finishReason");
  const span = spanOf(trace, entry, "chat", {
    spanId: ids.spanId(entry.id),
    parentId: parentNow(trace),
    startMs: trace.lastMs,
    ...(model === null ? {} : { suffix: model }),
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": model,
      "gen_ai.response.id": codeOf(evidence, "responseId"),
      "gen_ai.response.model": codeOf(evidence, "model"),
      "gen_ai.response.finish_reasons": finishReason === null ? null : [finishReason],
      "gen_ai.usage.input_tokens": inputTokens,
      "gen_ai.usage.output_tokens": outputTokens,
      "server.address": codeOf(evidence, "serverAddress"),
      "server.port": integerOf(evidence, "serverPort"),
    },
  });
  const { phase } = trace;
  const counted = phase && {
    ...phase,
    inputTokens: phase.inputTokens + (inputTokens ?? 0),
    outputTokens: phase.outputTokens + (outputTokens ?? 0),
  };
  return { trace: { ...trace, phase: counted }, spans: [span] };
}
