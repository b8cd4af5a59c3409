import {
  type ActionId,
  type ApprovalId,
  CountersignError,
  canonicalBytes,
  type Decision,
  type NewEntry,
  plainEntry,
  type RandomBytes,
  type Requester,
  type RunId,
  type TraceId,
} from "../domain/index.ts";
import { type Keys, type Ledger, readActionEntries, readNonce, sealCommitted } from "../ledger/index.ts";
import type { Store, Transaction } from "../store/index.ts";
import { decisionEvidence } from "./batches.ts";
import { closeQuestion } from "./pending-approval.ts";
import { encode } from "./trail.ts";

/** A question that waits on GitHub, and the run that waits with it. */
export type OpenQuestion = {
  readonly approvalId: ApprovalId;
  readonly actionId: ActionId;
  readonly run: { readonly runId: RunId; readonly traceId: TraceId; readonly attempt: number };
};

/** A person's answer to a question that is asked elsewhere than on the terminal of the run. */
export type PersonsAnswer = {
  readonly kind: "granted" | "refused";
  /** With the permission that GitHub told just now (AUD-37). */
  readonly approver: Requester;
  /** GitHub's name for the request that told the permission (AUD-5); null where it gave none. */
  readonly requestId: string | null;
  /** Free text, sealed and told to the model. */
  readonly reason: string;
  readonly deliveryId: string;
  /** The policy's own answer to `approve`. */
  readonly decision: Decision;
};

export type AnswerDeps = {
  readonly store: Pick<Store, "db">;
  readonly ledger: Pick<Ledger, "append">;
  readonly keys: Keys;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
};

/**
 * Makes an answer durable, once: the entry, the row that makes it the only one, and what `within` adds, in one transaction. The
 * action itself is taken up by whoever works on the run next. Throws what `within` throws, a plain `Error` where the question was
 * answered before, and `KEYS_UNUSABLE` where the action's keys were erased.
 */
export async function recordPersonsAnswer(
  deps: AnswerDeps,
  question: OpenQuestion,
  answer: PersonsAnswer,
  within: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const { approvalId, actionId } = question;
  const { kind, approver, requestId, decision, deliveryId } = answer;
  const reference = Buffer.from(deps.randomBytes(16)).toString("hex");
  const nonce = await readNonce(deps, actionId);
  if (nonce === null) throw new CountersignError("KEYS_UNUSABLE", `action \`${actionId}\` can't be opened`);
  const { sealed, commitments } = sealCommitted(
    actionId,
    { bytes: nonce, isNew: false },
    {
      reason: encode(answer.reason),
      approver: encode(JSON.stringify({ reference, ...approver })),
      approve_request: canonicalBytes(decision.requests),
    },
  );
  const entry = await answerEntry(deps, question, {
    state: kind === "granted" ? "approval_granted" : "approval_refused",
    actor: { kind: "person", reference },
    deliveryId,
    evidence: {
      approvalId,
      channel: "github",
      permission: approver.permission,
      requestId,
      policy: { decisionId: decision.decisionId, ...decisionEvidence(decision) },
      commitments,
    },
  });
  const close = closeQuestion({ approvalId, answer: kind, deliveryId, nowMs: deps.clock() });
  await deps.ledger.append(null, { entries: [entry], sealed }, async (tx) => {
    await close(tx);
    await within(tx);
  });
}

/** Ends a question whose time is over, by the run clock, also where no worker has its run (AUD-38). Throws as `recordPersonsAnswer`. */
export async function recordExpiry(
  deps: Omit<AnswerDeps, "keys" | "randomBytes">,
  question: OpenQuestion & { readonly expiresAt: string },
  within: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const { approvalId, expiresAt } = question;
  const entry = await answerEntry(deps, question, {
    state: "approval_expired",
    evidence: { approvalId, channel: "github", expiresAt, lateAnswer: null },
  });
  const close = closeQuestion({ approvalId, answer: "expired", deliveryId: null, nowMs: deps.clock() });
  await deps.ledger.append(null, { entries: [entry], sealed: [] }, async (tx) => {
    await close(tx);
    await within(tx);
  });
}

async function answerEntry(
  { store }: Pick<AnswerDeps, "store">,
  { actionId, run }: OpenQuestion,
  facts: Pick<NewEntry, "state" | "evidence"> & Partial<Pick<NewEntry, "actor" | "deliveryId">>,
): Promise<NewEntry> {
  const [proposal] = await readActionEntries(store, actionId);
  const { runId, traceId, attempt } = run;
  return { ...plainEntry, type: "action", runId, traceId, attempt, actionId, parentId: proposal?.id ?? null, ...facts };
}
