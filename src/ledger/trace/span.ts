import type { LedgerEntry, RunId, TraceId } from "../../domain/index.ts";
import type { Keys } from "../keys.ts";
import {
  type AttributesOf,
  type AttributeValue,
  type ResourceAttributes,
  type SpanForm,
  type SpanKindName,
  spanForms,
} from "./names.ts";

/** What ids are made of: the same record always gives the same id (AUD-71). */
export type TraceIds = Pick<Keys, "traceId" | "spanId">;

/** A completed span: plain data, the same each time that it is derived. Times are those of the entries. */
export type TraceSpan = {
  readonly runId: RunId;
  /** Of the entry that completed it. */
  readonly entryIndex: number;
  readonly traceId: TraceId;
  readonly spanId: string;
  /** Null for the root alone. */
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: SpanKindName;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Spans of the same trace. */
  readonly links: readonly string[];
  /** A code where the span's status is an error; null where it is unset. */
  readonly errorCode: string | null;
  readonly resource: ResourceAttributes;
};

/** What differs from span to span; the rest follows from the entry that completes it and from the run. */
export type SpanFacts<Form extends SpanForm> = {
  readonly spanId: string;
  readonly parentId: string | null;
  readonly startMs: number;
  /** The time of the completing entry unless given. */
  readonly endMs?: number;
  /** What stands behind the form's name, such as the tool. */
  readonly suffix?: string;
  readonly attributes: AttributesOf<Form>;
  readonly links?: readonly string[];
  readonly errorCode?: string | null;
};

const names: Readonly<Record<SpanForm, string>> = {
  root: "RUN countersign",
  resume: "resume",
  prepare: "prepare",
  verify: "verify",
  publish: "publish",
  settle: "settle",
  agent: "invoke_agent countersign",
  chat: "chat",
  action: "countersign.action",
  parse: "countersign.parse",
  validate: "countersign.validate",
  authorize: "countersign.authorize",
  approval: "countersign.approval",
  tool: "execute_tool",
  reconcile: "countersign.reconcile",
};

/** A span of the given form, completed by the entry. */
export function spanOf<Form extends SpanForm>(
  run: { readonly runId: RunId; readonly traceId: TraceId; readonly resource: ResourceAttributes },
  entry: LedgerEntry,
  form: Form,
  facts: SpanFacts<Form>,
): TraceSpan {
  const endMs = facts.endMs ?? timeMs(entry);
  const known = Object.entries(facts.attributes).filter(
    (named): named is [string, AttributeValue] => named[1] !== null && named[1] !== undefined,
  );
  return {
    runId: run.runId,
    entryIndex: entry.index,
    traceId: run.traceId,
    spanId: facts.spanId,
    parentId: facts.parentId,
    name: facts.suffix === undefined ? names[form] : `${names[form]} ${facts.suffix}`,
    kind: spanForms[form].kind,
    // A clock that was set back (AUD-11) must not make a span end before it began.
    startMs: Math.min(facts.startMs, endMs),
    endMs,
    attributes: { "countersign.run.id": run.runId, ...Object.fromEntries(known) },
    links: facts.links ?? [],
    errorCode: facts.errorCode ?? null,
    resource: run.resource,
  };
}

export const timeMs = (entry: Pick<LedgerEntry, "time">): number => Date.parse(entry.time);
