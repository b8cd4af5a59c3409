import { canonicalBytes, type Decision, fieldCommitment, type JsonObject, type LedgerEntry } from "../domain/index.ts";
import type { NewBatch } from "../ledger/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AuthorizedAction } from "./authorized-action.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ParsedAction } from "./parse.ts";
import type { RunContext } from "./run-context.ts";
import type { Settlement } from "./settlement.ts";
import { batchOf, commitArguments, digestOf, encode, type Step, stepOf, type Trail } from "./trail.ts";
import type { ReadyAction } from "./validate.ts";

/** Ids that the model's server wrote. One of another form could be any text: it stands in the sealed answer alone. */
const idForm = /^[\w.:/+=-]{1,128}$/;
const idOrNull = (id: string | null | undefined): string | null =>
  typeof id === "string" && idForm.test(id) ? id : null;

/** What the ledger calls a tool that the catalogue does not have: its name is the model's own text, and sealed. */
const unknownToolName = "unknown_tool";

/** What is durable before anything is decided: who proposed what, and the commitment to the bytes received. */
export function proposal(catalogue: Catalogue, run: RunContext, trail: Trail): NewBatch {
  const { proposed } = trail;
  const raw = encode(proposed.rawArguments);
  const isKnown = catalogue.has(proposed.tool);
  const evidence: JsonObject = {
    tool: isKnown ? proposed.tool : unknownToolName,
    principal: proposed.principal.kind,
    requester: run.requesterReference,
    toolCallId: idOrNull(proposed.call?.toolCallId),
    turn: proposed.call?.turn ?? null,
    ordinal: proposed.call?.ordinal ?? null,
    modelResponseId: idOrNull(proposed.call?.modelResponseId),
    rawSizeBytes: raw.byteLength,
    rawDigest: digestOf(run, trail, null),
    compensates: proposed.compensates,
  };
  const texts = isKnown ? { raw } : { raw, tool: encode(proposed.tool) };
  return batchOf([stepOf(run, trail, "proposed", { evidence, texts })]);
}

/** What a decision says and was made by, in clear (AUD-25). */
export const decisionEvidence = (decision: Decision): JsonObject => ({
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
});

/** The policy's answer, with all that it was asked of and by which policies. */
export function decisionStep(run: RunContext, trail: Trail, parsed: ParsedAction, decision: Decision): Step {
  const evidence = decisionEvidence(decision);
  const errors = decision.errors.length === 0 ? {} : { errors: encode(JSON.stringify(decision.errors)) };
  // Advice may be a repository's own text: it is sealed, and its ids alone stand in the entry (AUD-30).
  const advice = Object.keys(decision.advice).length === 0 ? {} : { advice: canonicalBytes(decision.advice) };
  const texts = { arguments: parsed.canonical, request: canonicalBytes(decision.requests), ...advice, ...errors };
  return stepOf(run, trail, "decision", { evidence, texts, decisionId: decision.decisionId });
}

export function authorizedSteps(run: RunContext, trail: Trail, action: AuthorizedAction): readonly Step[] {
  const { parsed, decision } = action;
  const evidence: JsonObject = {
    argumentsCommitment: commitArguments(trail, parsed.canonical),
    argumentsDigest: digestOf(run, trail, parsed.canonical),
    approvalId: trail.approvalId,
    risk: action.facts.risk,
  };
  return [
    decisionStep(run, trail, parsed, decision),
    stepOf(run, trail, "authorized", { evidence, decisionId: decision.decisionId }),
  ];
}

/** The decision, the intent with its preconditions, and the start: durable before the effect. */
export function decisionAndIntent(run: RunContext, trail: Trail, ready: ReadyAction): NewBatch {
  const { authorized, settlement } = ready;
  const { facts, parsed } = authorized;
  const evidence: JsonObject = {
    preconditions: ready.preconditions.map(({ name, holds }) => ({ name, holds })),
    effectKind: parsed.action.group,
    risk: facts.risk,
    operationKey: operationKey(trail, parsed.action.name),
    ...settlementEvidence(trail, settlement),
    // AUD-14: nothing is normalised, but a path that two systems may spell differently is flagged.
    pathsNotNfcCount: facts.paths.filter(({ requested }) => requested !== requested.normalize("NFC")).length,
  };
  // Paths, and hashes of content that may be short enough to guess, are sealed (AUD-16, AUD-79).
  const intent = canonicalBytes({
    paths: facts.paths.map(({ resolved }) => resolved),
    preconditions: ready.preconditions.map((precondition) => ({ ...precondition })),
    ...(settlement === null ? {} : { naturalKey: settlement.naturalKey }),
    ...ready.intent,
  });
  return batchOf([
    ...authorizedSteps(run, trail, authorized),
    stepOf(run, trail, "intent_recorded", { evidence, texts: { intent } }),
    startedStep(run, trail, 1),
  ]);
}

/** When the intent became durable: an effect of it can't be older. */
export const intentTime = (appended: readonly LedgerEntry[]): string =>
  appended.find(({ state }) => state === "intent_recorded")?.time ?? "";

/** A start of the action, numbered from 1 (AUD-10). */
export const startedStep = (run: RunContext, trail: Trail, number: number): Step =>
  stepOf(run, trail, "started", { evidence: { fencingToken: run.lease.fencingToken }, try: number });

/** The natural key may hold a label or a branch of the repository's own: it is sealed, and its commitment stands for it. */
function settlementEvidence(trail: Trail, settlement: Settlement | null): JsonObject {
  // An action in the checkout whose outcome is lost is settled by dropping the checkout (AUD-66).
  if (settlement === null) return { reconcileRecipe: "drop_workspace" };
  const { recipe, precondition, naturalKey, expectedSha, deadlineMs } = settlement;
  const idempotencyKey = fieldCommitment("idempotency_key", trail.nonce, encode(naturalKey));
  return { reconcileRecipe: recipe, precondition, idempotencyKey, expectedSha, deadlineMs };
}

/** From run, turn, ordinal and tool alone, so that it is the same after a take-over (ACI-45). */
function operationKey({ proposed }: Trail, tool: string): string {
  const place = proposed.call === null ? proposed.actionId : `${proposed.call.turn}:${proposed.call.ordinal}`;
  return `${proposed.runId}:${place}:${tool}`;
}

/** Marks the approval as used, in the transaction of the authorization: a second use breaks a unique key (AUD-36). */
export function approvalUse({ approvalId, proposed }: Trail): ((tx: Transaction) => Promise<void>) | undefined {
  if (approvalId === null) return undefined;
  return async (tx) => {
    await tx.insertInto("approval_uses").values({ approval_id: approvalId, action_id: proposed.actionId }).execute();
  };
}
