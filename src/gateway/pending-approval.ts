import {
  type Actor,
  type ApprovalId,
  canonicalBytes,
  type Decision,
  fieldCommitment,
  type JsonObject,
  type JsonValue,
} from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import { type Facts, workspaceOf } from "./facts.ts";
import type { ParsedAction } from "./parse.ts";
import type { RunContext } from "./run-context.ts";
import { commitArguments, type Trail } from "./trail.ts";

/** A question that is open, with all that its answer will be held against. */
export type PendingApproval = {
  readonly approvalId: ApprovalId;
  readonly trail: Trail;
  readonly parsed: ParsedAction;
  readonly facts: Facts;
  readonly decision: Decision;
  readonly bindings: JsonObject;
  /** ISO 8601. */
  readonly expiresAt: string;
};

/** A question as whoever takes its answer needs it: from memory, or read back from the record. */
export type AskedQuestion = Omit<PendingApproval, "facts" | "decision"> & {
  readonly policyIds: readonly string[];
  /** Null where it was read back. */
  readonly decision: Decision | null;
};

/** What is sealed with a question beside its bindings. */
export type QuestionText = {
  /** Of the deciding policies, by id. */
  readonly advice: Readonly<Record<string, string>>;
  /** Where the paths lead that the action names. */
  readonly paths: readonly string[];
  /** Files as the run had last read or written them. */
  readonly remembered: readonly { readonly path: string; readonly sha256: string }[];
};

/** `reason` is a person's free text: sealed, and told to the model. */
export type ApprovalAnswer =
  | { readonly kind: "granted" | "refused"; readonly actor: Actor; readonly reason: string }
  | { readonly kind: "expired" };

/**
 * What an approval is bound to (AUD-35): the action, its semantic arguments, the policies, risk and requester, and the
 * content: of everything that could be run for `execute`, else of the files named.
 */
export async function bindingsOf(
  run: RunContext,
  trail: Trail,
  action: { readonly parsed: ParsedAction; readonly facts: Facts; readonly decision: Decision },
): Promise<JsonObject> {
  const { parsed, facts, decision } = action;
  const semantic = Object.fromEntries(
    Object.entries(parsed.arguments).filter(([name]) => parsed.action.semanticFields.includes(name)),
  );
  return {
    actionId: trail.proposed.actionId,
    argumentsCommitment: commitArguments(trail, canonicalBytes(semantic)),
    policySetDigest: decision.policySetDigest,
    schemaDigest: decision.schemaDigest,
    repositoryPolicyDigest: decision.repositoryPolicyDigest,
    risk: facts.risk,
    requester: run.requesterReference,
    content: await contentOf(run, parsed, facts),
  };
}

/** Bytes that go to GitHub are named by their blob ids in the arguments, and so bound with them. */
function contentOf(run: RunContext, { action }: ParsedAction, facts: Facts): Promise<JsonValue> {
  if (action.place === "github") return Promise.resolve({});
  return action.group === "execute" ? treeContent(run) : fileContents(run, facts);
}

/**
 * Of the whole tree as it is now, every byte read: what is known of it from before may be outdated. What the setup made and nobody
 * changed since counts by the command that makes it again in a restored tree, not by its bytes.
 */
async function treeContent(run: RunContext): Promise<JsonValue> {
  const reading = await workspaceOf(run).readBack();
  const { setupCommand: setup } = run.settings;
  return reading.kind === "read" ? { tree: reading.fingerprint, setup } : { refused: reading.causes };
}

const largestBoundFileBytes = 64 * 1024 * 1024;

async function fileContents(run: RunContext, facts: Facts): Promise<JsonObject> {
  const contents: Record<string, string> = {};
  for (const { resolved } of facts.paths) {
    const read = await workspaceOf(run).readFile(resolved, largestBoundFileBytes);
    contents[resolved] = read.kind === "file" ? read.sha256 : read.kind;
  }
  return contents;
}

/** A bound value for the log and for SQL: paths and hashes of content that may be guessed stand nowhere in clear (AUD-79). */
export const commitBinding = (trail: Trail, value: JsonValue | undefined): string =>
  fieldCommitment("binding", trail.nonce, canonicalBytes(value ?? null));

/** The row that a question is found by, written in the transaction of its entry. */
export function openApproval(run: RunContext, pending: PendingApproval): (tx: Transaction) => Promise<void> {
  return async (tx) => {
    const { approvalId, trail, bindings, expiresAt } = pending;
    const committed = Object.fromEntries(
      Object.entries(bindings).map(([name, value]) => [name, commitBinding(trail, value)]),
    );
    const row = { approval_id: approvalId, action_id: trail.proposed.actionId, run_id: run.runId };
    await tx
      .insertInto("approvals")
      .values({ ...row, bindings: JSON.stringify(committed), expires_at: expiresAt })
      .execute();
  };
}

/** The row that makes an answer the only one, written in the transaction of its entry (AUD-39). */
export function closeQuestion(answer: {
  readonly approvalId: ApprovalId;
  readonly answer: "granted" | "refused" | "expired";
  readonly deliveryId: string | null;
  readonly nowMs: number;
}): (tx: Transaction) => Promise<void> {
  const { approvalId: approval_id, deliveryId: delivery_id, nowMs } = answer;
  const row = { approval_id, answer: answer.answer, delivery_id, answered_at: new Date(nowMs).toISOString() };
  return async (tx) => {
    await tx.insertInto("approval_answers").values(row).execute();
  };
}
