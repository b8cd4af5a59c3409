import type { LedgerEntry, RunId } from "../../domain/index.ts";
import { deriveAction } from "./action-spans.ts";
import { deriveRun, deriveTakeover, deriveTurn } from "./run-spans.ts";
import { beginTrace, type Derived, type RunTrace } from "./run-trace.ts";
import { type TraceIds, type TraceSpan, timeMs } from "./span.ts";

/**
 * What one entry makes of its run's trace, and the spans that it completes (AUD-68). Pure: the same entries give the same
 * spans, whoever derives them and in how many steps. Never throws on an entry that the ledger takes: what is not known of a
 * span is left out, since a trace must never keep an entry from being recorded.
 */
export function deriveSpans(ids: TraceIds, before: RunTrace | null, runId: RunId, entry: LedgerEntry): Derived {
  const takeover = deriveTakeover(ids, before ?? beginTrace(ids, runId, entry), entry);
  const { trace, spans: own } = deriveEntry(ids, takeover.trace, entry);
  const spans = [...takeover.spans, ...own];
  return {
    trace: {
      ...trace,
      size: trace.size + 1,
      lastMs: timeMs(entry),
      lastSpanId: spans.at(-1)?.spanId ?? trace.lastSpanId,
    },
    spans,
  };
}

function deriveEntry(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  switch (entry.type) {
    case "run":
      return deriveRun(ids, trace, entry);
    case "turn":
      return deriveTurn(ids, trace, entry);
    case "action":
    case "decision":
      return deriveAction(ids, trace, entry);
    case "service":
      return { trace, spans: [] };
  }
}

export type Traces = ReadonlyMap<RunId, RunTrace>;

/** The same over several entries of any runs; entries of no run have no trace. */
export function deriveBatch(
  ids: TraceIds,
  before: Traces,
  entries: readonly LedgerEntry[],
): { readonly traces: Traces; readonly spans: readonly TraceSpan[] } {
  const traces = new Map(before);
  const spans: TraceSpan[] = [];
  for (const entry of entries) {
    if (entry.runId === null) continue;
    const derived = deriveSpans(ids, traces.get(entry.runId) ?? null, entry.runId, entry);
    traces.set(entry.runId, derived.trace);
    spans.push(...derived.spans);
  }
  return { traces, spans };
}

/** All spans of a log's entries, in the order of their completion: the trace as it can be made anew at any time. */
export const spansOf = (ids: TraceIds, entries: readonly LedgerEntry[]): readonly TraceSpan[] =>
  deriveBatch(ids, new Map(), entries).spans;
