import {
  type ActionId,
  type ActionState,
  isLegalTransition,
  type JsonObject,
  type LedgerEntry,
  type NewEntry,
  newEntryId,
  plainEntry,
  type RandomBytes,
  type RunId,
  type SealedField,
} from "../domain/index.ts";
import { entryBody } from "./entry-body.ts";
import type { Sealed } from "./keys.ts";
import { appendLeaves, leafHash, type TreeNode } from "./merkle.ts";
import type { Tail } from "./tail.ts";

/** What becomes durable together. */
export type NewBatch = { readonly entries: readonly NewEntry[]; readonly sealed: readonly SealedField[] };

/** A worker's right to write for a run: its token rises with each lease, and a lower one is refused (AUD-7). */
export type RunLease = { readonly runId: RunId; readonly fencingToken: number };

/** A sealed field with its ciphertext and the place in the batch of the entry that commits to it. */
export type PreparedField = {
  readonly runId: RunId;
  readonly actionId: ActionId | null;
  readonly field: string;
  readonly at: number;
  readonly sealed: Sealed;
  /** Null for the nonce itself. */
  readonly commitment: string | null;
};

/** All that one append writes. */
export type PreparedBatch = {
  readonly entries: readonly LedgerEntry[];
  readonly bodies: readonly Uint8Array[];
  readonly leafHashes: readonly Uint8Array[];
  readonly nodes: readonly TreeNode[];
  readonly fields: readonly PreparedField[];
  /** The end of the log once this is stored. */
  readonly tail: Tail;
};

/** Steps of the clock up to here are taken for the difference between two machines' clocks (AUD-11). */
const clockStepMs = 5000;

/** What an entry commits to, by sealed field. */
export function commitmentsOf(evidence: JsonObject): Readonly<Record<string, string>> {
  const { commitments } = evidence;
  return (commitments ?? {}) as Readonly<Record<string, string>>;
}

/**
 * The place in the batch of the entry that a sealed field belongs to: the one that commits to it; for the nonce the first
 * of its action, or of the run where there is none. A text that no entry commits to could be changed unseen: a bug.
 */
export function placeOf(entries: readonly NewEntry[], field: SealedField): number {
  const at = entries.findIndex(
    (entry) =>
      entry.actionId === field.actionId &&
      entry.runId !== null &&
      (field.field === "nonce" || Object.hasOwn(commitmentsOf(entry.evidence), field.field)),
  );
  if (at === -1) throw new Error(`no entry of the batch commits to the sealed field \`${field.field}\``);
  return at;
}

/**
 * Gives each entry its place, time, bytes and hashes after the tail. Pure but for the randomness of ids. `expectedMs`: what the
 * clock would show had nobody set it; null where that is not known.
 */
export function prepareBatch(
  deps: {
    readonly origin: string;
    readonly nowMs: number;
    readonly expectedMs: number | null;
    readonly randomBytes: RandomBytes;
  },
  lease: RunLease | null,
  batch: { readonly entries: readonly NewEntry[]; readonly fields: readonly PreparedField[] },
  tail: Tail,
): PreparedBatch {
  const step = clockStep(deps, tail.timeMs);
  const timeMs = step === null ? Math.max(deps.nowMs, tail.timeMs ?? 0) : deps.nowMs;
  const runSizes = new Map(tail.runSizes);
  const entries = [...(step === null ? [] : [step]), ...batch.entries].map((entry, at): LedgerEntry => {
    const runSeq = entry.runId === null ? null : (runSizes.get(entry.runId) ?? 0);
    if (entry.runId !== null && runSeq !== null) runSizes.set(entry.runId, runSeq + 1);
    return {
      ...entry,
      version: 1,
      id: newEntryId({ clock: () => timeMs, randomBytes: deps.randomBytes }),
      origin: deps.origin,
      index: tail.tree.size + at,
      runSeq,
      fencingToken: entry.runId === null ? null : (lease?.fencingToken ?? null),
      time: new Date(timeMs).toISOString(),
    };
  });
  const bodies = entries.map(entryBody);
  const leafHashes = bodies.map(leafHash);
  const { tree, nodes } = appendLeaves(tail.tree, leafHashes);
  const shift = step === null ? 0 : 1;
  return {
    entries,
    bodies,
    leafHashes,
    nodes,
    fields: batch.fields.map((field) => ({ ...field, at: field.at + shift })),
    tail: { tree, timeMs, runSizes, states: nextStates(tail.states, batch.entries) },
  };
}

type Clock = { readonly nowMs: number; readonly expectedMs: number | null };

/** The entry that says that the clock was set, or null where it was not (AUD-11): back, by the log's end, or by a clock that can't be set. */
function clockStep({ nowMs, expectedMs }: Clock, lastMs: number | null): NewEntry | null {
  const isBack = lastMs !== null && nowMs < lastMs - clockStepMs;
  const isSet = expectedMs !== null && Math.abs(nowMs - expectedMs) > clockStepMs;
  const fromMs = isBack ? lastMs : expectedMs;
  if (fromMs === null || !(isBack || isSet)) return null;
  const evidence = { kind: "clock_step", from: new Date(fromMs).toISOString(), to: new Date(nowMs).toISOString() };
  return { ...plainEntry, type: "service", evidence };
}

/**
 * Where the actions stand after these entries. An illegal step is a bug and is found here before anything is sent; of an
 * action that another process moved the state is not known here, and the database's own trigger decides.
 */
function nextStates(known: Tail["states"], entries: readonly NewEntry[]): ReadonlyMap<ActionId, ActionState> {
  const states = new Map(known);
  for (const { type, actionId, state } of entries) {
    if (type !== "action" || actionId === null || state === null) continue;
    const from = states.get(actionId) ?? (state === "proposed" ? null : undefined);
    if (from !== undefined && !isLegalTransition(from, state)) {
      throw new Error(`illegal transition of an action from \`${from ?? "(start)"}\` to \`${state}\``);
    }
    states.set(actionId, state);
  }
  return states;
}

/** Refuses what no entry may be, before anything is sealed or sent: bugs of the caller. */
export function checkBatch(lease: RunLease | null, entries: readonly NewEntry[]): void {
  if (entries.length === 0) throw new Error("an append needs at least one entry");
  for (const entry of entries) {
    if (lease !== null && entry.runId !== null && entry.runId !== lease.runId) {
      throw new Error("an entry of another run under this run's lease");
    }
  }
}
