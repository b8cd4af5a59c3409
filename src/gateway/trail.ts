import {
  type ActionState,
  type Actor,
  type ApprovalId,
  argumentsCommitment,
  argumentsDigest,
  type DecisionId,
  type EntryId,
  type JsonObject,
  type LedgerEntry,
  type NewEntry,
  type ProposedAction,
  type RandomBytes,
  rawArgumentsDigest,
  type SealedField,
} from "../domain/index.ts";
import { type NewBatch, sealCommitted } from "../ledger/index.ts";
import type { RunContext } from "./run-context.ts";

/** One action on its way: its nonce and what its entries have in common. */
export type Trail = {
  readonly proposed: ProposedAction;
  /** 32 random bytes that keep short arguments from being guessed from their commitments (AUD-15). */
  readonly nonce: Uint8Array;
  readonly startedAtMs: number;
  /** The entry of the proposal, which all later ones name as their parent (AUD-10); null until it is durable. */
  readonly proposalId: EntryId | null;
  /** Set once a person said yes: the approval is used up in the transaction that records the authorization. */
  readonly approvalId: ApprovalId | null;
};

export function openTrail(randomBytes: RandomBytes, proposed: ProposedAction, nowMs: number): Trail {
  return { proposed, nonce: randomBytes(32), startedAtMs: nowMs, proposalId: null, approvalId: null };
}

/** The trail once its proposal is durable. */
export const beginTrail = (trail: Trail, appended: readonly LedgerEntry[]): Trail => ({
  ...trail,
  proposalId: appended[0]?.id ?? null,
});

const encoder = new TextEncoder();
export const encode = (text: string): Uint8Array => encoder.encode(text);

export const commitArguments = (trail: Trail, canonical: Uint8Array): string =>
  argumentsCommitment(trail.nonce, canonical);

/** The keyed digest that people and traces see; of the raw text where it did not parse (AUD-16). */
export function digestOf(run: RunContext, trail: Trail, canonical: Uint8Array | null): string {
  return canonical === null
    ? rawArgumentsDigest(run.runKey, encode(trail.proposed.rawArguments))
    : argumentsDigest(run.runKey, canonical);
}

/** One entry of an action with the texts sealed beside it. */
export type Step = { readonly entry: NewEntry; readonly sealed: readonly SealedField[] };

type StepFacts = {
  readonly evidence: JsonObject;
  /** Sealed under the run's key, each with its commitment in the entry. */
  readonly texts?: Readonly<Record<string, Uint8Array>>;
  readonly try?: number;
  readonly decisionId?: DecisionId;
  readonly actor?: Actor;
};

/** A state of this action, or the decision on it. */
export function stepOf(run: RunContext, trail: Trail, state: ActionState | "decision", facts: StepFacts): Step {
  const { actionId, principal } = trail.proposed;
  const nonce = { bytes: trail.nonce, isNew: state === "proposed" };
  const { sealed, commitments } = sealCommitted(actionId, nonce, facts.texts ?? {});
  const hasTexts = facts.texts !== undefined;
  const entry: NewEntry = {
    type: state === "decision" ? "decision" : "action",
    runId: run.runId,
    attempt: run.attempt,
    traceId: run.traceId,
    actionId,
    state: state === "decision" ? null : state,
    try: facts.try ?? null,
    decisionId: facts.decisionId ?? null,
    deliveryId: run.deliveryId ?? null,
    parentId: trail.proposalId,
    actor: facts.actor ?? principal,
    evidence: hasTexts ? { ...facts.evidence, commitments } : facts.evidence,
  };
  return { entry, sealed };
}

/** Steps that become durable together. */
export function batchOf(steps: readonly Step[]): NewBatch {
  return { entries: steps.map(({ entry }) => entry), sealed: steps.flatMap(({ sealed }) => sealed) };
}
