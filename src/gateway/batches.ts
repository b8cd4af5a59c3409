import { canonicalBytes, type Decision, type JsonObject } from "../domain/index.ts";
import type { NewBatch } from "../ledger/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import type { ParsedAction } from "./parse.ts";
import type { RunContext } from "./run-context.ts";
import { batchOf, commitArguments, digestOf, encode, type Step, stepOf, type Trail } from "./trail.ts";
import type { ReadyAction } from "./validate.ts";

/** Names and ids that the model or its server wrote: the ledger keeps their beginning, the sealed answer all of it. */
const longestName = 128;

/** What is durable before anything is decided: who proposed what, and the commitment to the bytes received. */
export function proposal(run: RunContext, trail: Trail): NewBatch {
  const { proposed } = trail;
  const raw = encode(proposed.rawArguments);
  const evidence: JsonObject = {
    tool: proposed.tool.slice(0, longestName),
    principal: proposed.principal.kind,
    requester: run.requesterReference,
    toolCallId: proposed.call?.toolCallId.slice(0, longestName) ?? null,
    turn: proposed.call?.turn ?? null,
    ordinal: proposed.call?.ordinal ?? null,
    modelResponseId: proposed.call?.modelResponseId?.slice(0, longestName) ?? null,
    rawSizeBytes: raw.byteLength,
    compensates: proposed.compensates,
  };
  return batchOf([stepOf(run, trail, "proposed", { evidence, texts: { raw } })]);
}

/** The policy's answer, with all that it was asked of and by which policies. */
export function decisionStep(run: RunContext, trail: Trail, parsed: ParsedAction, decision: Decision): Step {
  const evidence: JsonObject = {
    effect: decision.effect,
    policyIds: decision.policyIds,
    errorCount: decision.errors.length,
    adviceIds: Object.keys(decision.advice),
    policySetDigest: decision.policySetDigest,
    schemaDigest: decision.schemaDigest,
    entitiesDigest: decision.entitiesDigest,
    repositoryPolicyDigest: decision.repositoryPolicyDigest,
    engineVersion: decision.engineVersion,
    floorVersion: decision.floorVersion,
    durationUs: decision.durationUs,
  };
  const texts = { arguments: parsed.canonical, request: canonicalBytes(decision.requests) };
  return stepOf(run, trail, "decision", { evidence, texts, decisionId: decision.decisionId });
}

export function authorizedSteps(run: RunContext, trail: Trail, action: AuthorizedAction): readonly Step[] {
  const { parsed, decision } = action;
  const evidence: JsonObject = {
    argumentsCommitment: commitArguments(trail, parsed.canonical),
    argumentsDigest: digestOf(run, trail, parsed.canonical),
    approvalId: trail.approvalId,
  };
  return [
    decisionStep(run, trail, parsed, decision),
    stepOf(run, trail, "authorized", { evidence, decisionId: decision.decisionId }),
  ];
}

/** The decision, the intent with its preconditions, and the start: durable before the effect. */
export function decisionAndIntent(run: RunContext, trail: Trail, ready: ReadyAction): NewBatch {
  const { authorized } = ready;
  const intent: JsonObject = {
    preconditions: ready.preconditions.map(({ name, holds, evidence }) => ({ name, holds, evidence })),
    effectKind: authorized.parsed.action.group,
    risk: authorized.facts.risk,
    operationKey: operationKey(trail),
    // An action in the checkout whose outcome is lost is settled by dropping the checkout (AUD-66).
    reconcileRecipe: "drop_workspace",
    ...ready.intent,
  };
  return batchOf([
    ...authorizedSteps(run, trail, authorized),
    stepOf(run, trail, "intent_recorded", { evidence: intent }),
    stepOf(run, trail, "started", { evidence: { fencingToken: run.lease.fencingToken }, try: 1 }),
  ]);
}

/** From run, turn, ordinal and tool alone, so that it is the same after a take-over (ACI-45). */
function operationKey({ proposed }: Trail): string {
  const place = proposed.call === null ? proposed.actionId : `${proposed.call.turn}:${proposed.call.ordinal}`;
  return `${proposed.runId}:${place}:${proposed.tool.slice(0, longestName)}`;
}

/** Marks the approval as used, in the transaction of the authorization: a second use breaks a unique key (AUD-36). */
export function approvalUse({ approvalId, proposed }: Trail): ((tx: Transaction) => Promise<void>) | undefined {
  if (approvalId === null) return undefined;
  return async (tx) => {
    await tx.insertInto("approval_uses").values({ approval_id: approvalId, action_id: proposed.actionId }).execute();
  };
}
