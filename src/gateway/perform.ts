import type { ActionOutcome, ProposedAction } from "../domain/index.ts";
import { seal } from "./authorized-action.ts";
import { approvalUse, decisionAndIntent, intentTime, proposal } from "./batches.ts";
import { execute } from "./execute.ts";
import { takeFacts, toRequests } from "./facts.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type ParsedAction, parse } from "./parse.ts";
import { settle } from "./reconcile.ts";
import { recordRefused, recordWithheld } from "./record.ts";
import { cancelOnThrow, recordCancelled } from "./record-cancelled.ts";
import { requireGoing } from "./require-going.ts";
import type { RunContext } from "./run-context.ts";
import { beginTrail, openTrail, type Trail } from "./trail.ts";
import { validate } from "./validate.ts";

/**
 * Takes one proposed action to its recorded outcome: the only way to a side effect. A refusal is an outcome, never a
 * throw. Throws `LEDGER_UNAVAILABLE`, before any effect, if proposal or intent can't be made durable.
 */
export async function perform(
  deps: GatewayDeps,
  run: RunContext,
  proposed: ProposedAction,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const opened = openTrail(deps.randomBytes, proposed, deps.clock());
  const appended = await deps.ledger.append(run.lease, proposal(deps.catalogue, run, opened)); // 1 of 3: before anything is decided
  const trail = beginTrail(opened, appended);
  const parsed = parse(deps.catalogue, proposed); // JSON to typed arguments and the effects they name
  if (parsed.kind === "refused") return recordRefused(deps, run, trail, { ...parsed, authorized: null });
  return carryOut(deps, run, { trail, parsed }, signal);
}

/** An action that was parsed, on its first way through or taken up again with a person's approval. */
export type OpenAction = { readonly trail: Trail; readonly parsed: ParsedAction };

/** From the decision to the outcome. An approved action comes here a second time: every fact is taken anew. */
export async function carryOut(
  deps: GatewayDeps,
  run: RunContext,
  { trail, parsed }: OpenAction,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const orCancelled = cancelOnThrow(deps, run, trail, signal); // a throw before the effect is on record too
  const facts = await orCancelled(() => takeFacts(run, parsed)); // resolved paths and the risk they raise
  if (facts.kind === "refused")
    return recordRefused(deps, run, trail, { ...facts, parsed, stage: "validate", authorized: null });

  const requests = toRequests(run, parsed, facts, trail.approvalId !== null);
  const decision = await orCancelled(() => deps.authorize(requests, run.repositoryPolicies)); // pure; an error is a deny
  const authorized = seal(parsed, facts, decision); // the one maker of an AuthorizedAction
  if (authorized.kind !== "authorized") return recordWithheld(deps, run, trail, authorized);

  const ready = await orCancelled(() => validate(run, authorized, signal)); // path inside, fingerprint current, budget left, arguments unchanged
  if (ready.kind === "refused")
    return recordRefused(deps, run, trail, { ...ready, parsed, stage: "validate", authorized });
  await orCancelled(() => requireGoing(deps, run, parsed)); // no kill switch, no stop, by the database
  if (signal.aborted) return recordCancelled(deps, run, trail, { action: authorized, signal });

  // INVARIANT: no entry, no effect (test/gateway/no-entry-no-effect.test.ts)
  const durable = await deps.ledger.append(run.lease, decisionAndIntent(run, trail, ready), approvalUse(trail)); // 2 of 3: one transaction
  const execution = await execute(trail, ready, signal); // aborts and throws are outcomes too
  return settle(deps, run, { trail, execution, intentAt: intentTime(durable) }, signal); // 3 of 3: a lost answer is looked for
}
