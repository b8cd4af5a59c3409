import { delay } from "../agent/index.ts";
import type { ActionOutcome, ProposedAction } from "../domain/index.ts";
import { type ApprovalAnswer, answerApproval, type GatewayDeps, perform, type RunContext } from "../gateway/index.ts";
import { readHalt } from "../store/index.ts";
import type { RunDeps } from "./run-deps.ts";

export function gatewayDeps(deps: RunDeps): GatewayDeps {
  return {
    clock: deps.clock,
    randomBytes: deps.randomBytes,
    catalogue: deps.catalogue,
    ledger: deps.ledger,
    authorize: deps.policies.authorize,
    readHalt: (runId) => readHalt(deps.store.db, runId),
    openQuestions: new Map(),
    approvalExpiresAfterMs: deps.operator.approvals.expireAfterMinutes * 60_000,
    delay,
    ...(deps.lookPausesMs === undefined ? {} : { lookPausesMs: deps.lookPausesMs }),
  };
}

/** A person was asked elsewhere: nobody works on the run until there is an answer. */
export type Waiting = { readonly kind: "waiting" };

/** Performs an action; where it needs a person and one is at the terminal, asks and goes on with the answer. */
export async function performAsking(
  deps: RunDeps,
  run: RunContext,
  proposed: ProposedAction,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const gateway = gatewayDeps(deps);
  const { askApproval } = deps;
  const outcome = await perform(gateway, run, proposed, signal);
  if (outcome.approvalId === null || askApproval === null) return outcome;
  const question = gateway.openQuestions.get(outcome.approvalId);
  if (question === undefined) throw new Error(`approval ${outcome.approvalId} is pending but was not kept`);
  // biome-ignore lint/nursery/useAwaitThenable: the checker does not follow the function type through the door
  const { isGranted, reason } = await askApproval(question, signal);
  // Who sits at the terminal is who asked for the run; the ledger knows them by the run's random reference alone (AUD-79).
  const actor = { kind: "person", reference: run.requesterReference } as const;
  const answer: ApprovalAnswer = { kind: isGranted ? "granted" : "refused", actor, reason };
  return answerApproval(gateway, run, outcome.approvalId, answer, signal);
}
