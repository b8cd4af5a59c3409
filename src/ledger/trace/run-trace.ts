import { type ActionId, type ActionState, type LedgerEntry, legalTransitions, type RunId } from "../../domain/index.ts";
import { codeOf, integerOf } from "./evidence.ts";
import type { ResourceAttributes, SpanForm } from "./names.ts";
import { type TraceIds, type TraceSpan, timeMs } from "./span.ts";

/** One action as far as its spans are not complete. */
export type ActionTrace = {
  readonly actionId: ActionId;
  readonly tool: string;
  readonly toolCallId: string | null;
  readonly parentId: string;
  readonly proposedMs: number;
  readonly isParsed: boolean;
  readonly decidedMs: number | null;
  readonly state: ActionState;
  readonly outcome: string;
  readonly digest: string | null;
  readonly risk: string | null;
  /** Time and index of the newest state. */
  readonly lastMs: number;
  readonly lastIndex: number;
  readonly try: number;
  readonly startedMs: number;
  readonly approval: { readonly id: string | null; readonly sinceMs: number } | null;
  readonly reconciling: {
    readonly entryId: string;
    readonly sinceMs: number;
    readonly recipe: string | null;
    readonly round: number | null;
  } | null;
  /** The run ended while the action was open: its span is out, with the state that it had then. */
  readonly isClosed: boolean;
};

/** A phase that has begun and not ended. */
export type PhaseTrace = {
  readonly form: SpanForm & ("prepare" | "verify" | "publish" | "settle" | "agent");
  readonly phase: string;
  readonly entryId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly startMs: number;
  readonly hasFailed: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
};

/** A run as far as its spans are not complete: all that deriving the next span needs to know of the entries so far. */
export type RunTrace = {
  readonly runId: RunId;
  readonly traceId: TraceSpan["traceId"];
  /** Number of entries that it was derived from: the `runSeq` of the next one. */
  readonly size: number;
  readonly rootId: string;
  readonly startMs: number;
  readonly resource: ResourceAttributes;
  readonly issueNumber: number | null;
  readonly agentVersion: string | null;
  readonly attempt: number;
  readonly resume: { readonly spanId: string; readonly startMs: number; readonly link: string | null } | null;
  readonly phase: PhaseTrace | null;
  readonly actions: ReadonlyMap<ActionId, ActionTrace>;
  readonly lastMs: number;
  readonly lastSpanId: string | null;
  readonly isCompleted: boolean;
};

/** What an entry makes of a run's trace, and the spans that it completes, inner ones first. */
export type Derived = { readonly trace: RunTrace; readonly spans: readonly TraceSpan[] };

/** Before the first entry of a run. */
export function beginTrace(ids: TraceIds, runId: RunId, first: LedgerEntry): RunTrace {
  return {
    runId,
    traceId: ids.traceId(runId),
    size: 0,
    rootId: ids.spanId(runId),
    startMs: timeMs(first),
    resource: { "cicd.pipeline.name": "countersign", "cicd.pipeline.run.id": runId },
    issueNumber: null,
    agentVersion: null,
    attempt: 0,
    resume: null,
    phase: null,
    actions: new Map(),
    lastMs: timeMs(first),
    lastSpanId: null,
    isCompleted: false,
  };
}

/** Under which span something that happens now stands. */
export const parentNow = ({ phase, resume, rootId }: RunTrace): string => phase?.spanId ?? resume?.spanId ?? rootId;

/** No state follows any more: the action's span is complete. Not so where another try may come (`failed_definite`). */
export const isFinal = (state: ActionState): boolean => !legalTransitions.has(state);

/** What entries of type `run` say of the run as a whole, as soon as it is known. */
export function withRunFacts(trace: RunTrace, { evidence }: LedgerEntry): RunTrace {
  const named = {
    "vcs.ref.base.revision": codeOf(evidence, "baseSha"),
    "vcs.ref.head.name": codeOf(evidence, "headBranch"),
    "vcs.ref.head.revision": codeOf(evidence, "headSha"),
    "vcs.change.id": integerOf(evidence, "pullRequest")?.toString() ?? null,
  };
  const known = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null));
  return {
    ...trace,
    resource: { ...trace.resource, ...known },
    issueNumber: integerOf(evidence, "issueNumber") ?? trace.issueNumber,
    agentVersion: codeOf(evidence, "version") ?? trace.agentVersion,
  };
}
