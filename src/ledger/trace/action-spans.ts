import type { ActionId, LedgerEntry } from "../../domain/index.ts";
import { outcomeOf } from "../audited-action.ts";
import { asCode, codeOf, codesOf, integerOf } from "./evidence.ts";
import { type ActionTrace, type Derived, isFinal, parentNow, type RunTrace } from "./run-trace.ts";
import { spanOf, type TraceIds, type TraceSpan, timeMs } from "./span.ts";

/** A state of an action or the decision on it. Entries of an action without a proposal owe nothing: no ledger has one. */
export function deriveAction(ids: TraceIds, trace: RunTrace, entry: LedgerEntry): Derived {
  const { actionId, state } = entry;
  if (actionId === null) return { trace, spans: [] };
  if (state === "proposed") return { trace: withAction(trace, proposedAction(trace, entry, actionId)), spans: [] };
  const known = trace.actions.get(actionId);
  if (known === undefined) return { trace, spans: [] };
  const inner = [...parseSpan(ids, trace, known, entry), ...childSpans(ids, trace, known, entry)];
  const action = nextAction(known, entry);
  const isComplete = state !== null && isFinal(state);
  const own = isComplete && !action.isClosed ? [actionSpan(ids, trace, action, entry)] : [];
  const next = isComplete ? withoutAction(noteVerification(trace, action), actionId) : withAction(trace, action);
  return { trace: next, spans: [...inner, ...own] };
}

function proposedAction(trace: RunTrace, entry: LedgerEntry, actionId: ActionId): ActionTrace {
  return {
    actionId,
    tool: toolName(codeOf(entry.evidence, "tool")),
    toolCallId: codeOf(entry.evidence, "toolCallId"),
    parentId: parentNow(trace),
    proposedMs: timeMs(entry),
    isParsed: false,
    decidedMs: null,
    state: "proposed",
    outcome: "unknown",
    digest: codeOf(entry.evidence, "rawDigest"),
    risk: null,
    lastMs: timeMs(entry),
    lastIndex: entry.index,
    try: 0,
    startedMs: timeMs(entry),
    approval: null,
    reconciling: null,
    isClosed: false,
  };
}

const toolName = (tool: string | null): string => (tool !== null && /^\w+$/.test(tool) ? tool : "unknown_tool");

function nextAction(known: ActionTrace, entry: LedgerEntry): ActionTrace {
  const { evidence, state, id } = entry;
  const atMs = timeMs(entry);
  const facts = {
    ...known,
    isParsed: true,
    digest: codeOf(evidence, "argumentsDigest") ?? known.digest,
    risk: codeOf(evidence, "risk") ?? known.risk,
  };
  if (state === null) return { ...facts, decidedMs: atMs };
  const isReconciling = state === "reconciling";
  return {
    ...facts,
    state,
    outcome: asCode(outcomeOf(state, evidence)) ?? state,
    lastMs: atMs,
    lastIndex: entry.index,
    try: entry.try ?? known.try,
    startedMs: state === "started" ? atMs : known.startedMs,
    approval: state === "approval_pending" ? { id: codeOf(evidence, "approvalId"), sinceMs: atMs } : null,
    reconciling: isReconciling
      ? { entryId: id, sinceMs: atMs, recipe: codeOf(evidence, "recipe"), round: integerOf(evidence, "round") }
      : null,
  };
}

const decisionMs = (entry: LedgerEntry): number =>
  entry.type === "decision" ? Math.floor((integerOf(entry.evidence, "durationUs") ?? 0) / 1000) : 0;

function parseSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): readonly TraceSpan[] {
  if (action.isParsed) return [];
  const { evidence, state } = entry;
  const isRefused = state === "invalid" && evidence["stage"] === "parse";
  const facts = {
    spanId: ids.spanId(action.actionId, "parse"),
    parentId: ids.spanId(action.actionId),
    startMs: action.proposedMs,
    endMs: Math.max(action.proposedMs, timeMs(entry) - decisionMs(entry)),
    attributes: { "countersign.refusal.code": isRefused ? codeOf(evidence, "code") : null },
  };
  return [spanOf(trace, entry, "parse", facts)];
}

/** Of everything below the action but the parse: what this entry completes. */
function childSpans(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): readonly TraceSpan[] {
  if (entry.type === "decision") return [authorizeSpan(ids, trace, action, entry)];
  switch (entry.state) {
    case "intent_recorded":
      return [validateSpan(ids, trace, action, entry)];
    case "invalid":
      return entry.evidence["stage"] === "parse" ? [] : [validateSpan(ids, trace, action, entry)];
    case "approval_granted":
    case "approval_refused":
    case "approval_expired":
    case "approval_superseded":
    case "cancelled":
      return action.approval === null ? [] : [approvalSpan(ids, trace, action, entry)];
    case "succeeded":
    case "failed_definite":
    case "unknown":
      return [toolSpan(ids, trace, action, entry)];
    case "reconciled_applied":
    case "reconciled_not_applied":
    case "reconcile_inconclusive":
      return [reconcileSpan(ids, trace, action, entry)];
    default:
      return [];
  }
}

function authorizeSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  const { evidence, decisionId } = entry;
  return spanOf(trace, entry, "authorize", {
    spanId: ids.spanId(decisionId ?? entry.id),
    parentId: ids.spanId(action.actionId),
    startMs: Math.max(action.proposedMs, timeMs(entry) - decisionMs(entry)),
    attributes: {
      "countersign.decision.id": decisionId,
      "countersign.decision.effect": codeOf(evidence, "effect"),
      "countersign.decision.policy_ids": codesOf(evidence, "policyIds"),
      "countersign.policy.digest": codeOf(evidence, "policySetDigest"),
    },
  });
}

function validateSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  return spanOf(trace, entry, "validate", {
    spanId: ids.spanId(action.actionId, "validate"),
    parentId: ids.spanId(action.actionId),
    startMs: action.decidedMs ?? action.proposedMs,
    attributes: { "countersign.refusal.code": entry.state === "invalid" ? codeOf(entry.evidence, "code") : null },
  });
}

function approvalSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  return spanOf(trace, entry, "approval", {
    spanId: ids.spanId(action.actionId, "approval"),
    parentId: ids.spanId(action.actionId),
    startMs: action.approval?.sinceMs ?? action.proposedMs,
    attributes: {
      "countersign.approval.id": action.approval?.id,
      "countersign.approval.result": entry.state?.replace("approval_", ""),
      "countersign.approval.channel": codeOf(entry.evidence, "channel"),
    },
  });
}

const toolSpanId = (ids: TraceIds, action: ActionTrace): string =>
  ids.spanId(action.actionId, "try", String(action.try));

function toolSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  const errorCode =
    entry.state === "succeeded"
      ? null
      : (codeOf(entry.evidence, entry.state === "unknown" ? "cause" : "errorCode") ?? "unspecified");
  return spanOf(trace, entry, "tool", {
    spanId: toolSpanId(ids, action),
    parentId: ids.spanId(action.actionId),
    startMs: action.startedMs,
    suffix: action.tool,
    errorCode,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": action.tool,
      "gen_ai.tool.call.id": action.toolCallId,
      "gen_ai.tool.type": "function",
      "countersign.try": action.try,
      "error.type": errorCode,
    },
  });
}

function reconcileSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  const { reconciling } = action;
  return spanOf(trace, entry, "reconcile", {
    spanId: ids.spanId(reconciling?.entryId ?? entry.id),
    parentId: ids.spanId(action.actionId),
    startMs: reconciling?.sinceMs ?? timeMs(entry),
    links: [toolSpanId(ids, action)],
    attributes: {
      "countersign.try": action.try,
      "countersign.reconcile.recipe": reconciling?.recipe ?? codeOf(entry.evidence, "recipe"),
      "countersign.reconcile.round": reconciling?.round ?? integerOf(entry.evidence, "round"),
      "countersign.reconcile.result": entry.state?.replace(/^reconciled?_/, ""),
    },
  });
}

/** The span of the action itself, with the state in which it was left. */
export function actionSpan(ids: TraceIds, trace: RunTrace, action: ActionTrace, entry: LedgerEntry): TraceSpan {
  return spanOf(trace, entry, "action", {
    spanId: ids.spanId(action.actionId),
    parentId: action.parentId,
    startMs: action.proposedMs,
    endMs: action.lastMs,
    suffix: action.tool,
    attributes: {
      "countersign.action.id": action.actionId,
      "countersign.action.state": action.state,
      "countersign.risk": action.risk,
      "countersign.arguments.digest": action.digest,
      "countersign.outcome": action.outcome,
      "countersign.ledger.index": action.lastIndex,
    },
  });
}

const withAction = (trace: RunTrace, action: ActionTrace): RunTrace => ({
  ...trace,
  actions: new Map(trace.actions).set(action.actionId, action),
});

function withoutAction(trace: RunTrace, actionId: ActionId): RunTrace {
  const actions = new Map(trace.actions);
  actions.delete(actionId);
  return { ...trace, actions };
}

/** A verification that does not please fails the phase that it is made in. */
function noteVerification(trace: RunTrace, { tool, outcome }: ActionTrace): RunTrace {
  if (trace.phase?.form !== "verify" || tool !== "run_verification" || outcome === "ok") return trace;
  return { ...trace, phase: { ...trace.phase, hasFailed: true } };
}
