import {
  type ActionOutcome,
  assertNever,
  type CountersignError,
  type Decision,
  isCountersignError,
  type JsonObject,
} from "../domain/index.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { finishResult, outcomeOf, resultBytes } from "./outcome.ts";
import type { ParsedAction } from "./parse.ts";
import { type KnownEffect, type NotApplied, recordEffect, recordNotApplied } from "./record-execution.ts";
import { wholeBody } from "./result-record.ts";
import { resultText } from "./result-text.ts";
import type { RunContext } from "./run-context.ts";
import type { LookedAt, Settlement } from "./settlement.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** AUD-65: after so many rounds that tell nothing, a person must look. */
export const maxRounds = 3;

/** Before the second and the third round: whatever hid the answer may pass. */
const defaultPausesMs: readonly number[] = [5_000, 15_000];

/** One try of an action whose outcome is not known, and how it is to be settled. */
export type OpenTry = {
  readonly parsed: ParsedAction;
  readonly decision: Decision | null;
  readonly settlement: Settlement;
  /** The time of the intent. */
  readonly sinceIso: string;
  /** The start that is looked into, from 1. */
  readonly number: number;
  /** What the answer was lost with. */
  readonly error: Pick<CountersignError, "code" | "remedy">;
  readonly firstRound: number;
  readonly lastRound: number;
};

/**
 * Looks at the world until it is known what became of the try (AUD-65), each round an entry before and one after it. The
 * outcome's state says what was found; `reconcile_inconclusive` stays open for a person. Throws the signal's reason after
 * an abort, with the action left open.
 */
export async function lookInRounds(
  deps: GatewayDeps,
  run: RunContext,
  { trail, open }: { readonly trail: Trail; readonly open: OpenTry },
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const pausesMs = deps.lookPausesMs ?? defaultPausesMs;
  for (let round = open.firstRound; ; round += 1) {
    signal.throwIfAborted();
    const outcome = await lookOnce(deps, run, { trail, open, round }, signal);
    if (outcome.state !== "reconcile_inconclusive" || round >= open.lastRound) return outcome;
    await deps.delay(pausesMs[round - open.firstRound] ?? 0, signal);
  }
}

type Round = { readonly trail: Trail; readonly open: OpenTry; readonly round: number };

async function lookOnce(
  deps: GatewayDeps,
  run: RunContext,
  { trail, open, round }: Round,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { settlement, sinceIso, parsed, decision, number, error } = open;
  const asked = { recipe: settlement.recipe, round };
  const began = deps.clock();
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "reconciling", { evidence: asked, try: number })]));
  const looked = await look(settlement, sinceIso, signal);
  const common = { parsed, decision, number };
  switch (looked.kind) {
    case "applied": {
      const effected = { ...looked.effected, presented: finish(deps, trail, open, looked.effected.presented) };
      const durationMs = Math.max(0, deps.clock() - began);
      const known: KnownEffect = { ...common, state: "reconciled_applied", effected, evidence: asked, durationMs };
      return recordEffect(deps, run, trail, known);
    }
    case "not_applied": {
      const evidence = { ...asked, github: looked.evidence, errorCode: error.code };
      const none: NotApplied = { ...common, state: "reconciled_not_applied", error, evidence };
      return recordNotApplied(deps, run, trail, none);
    }
    case "inconclusive":
      return recordInconclusive(deps, run, { trail, open, round }, looked.evidence);
    case "failed":
      await recordInconclusive(deps, run, { trail, open, round }, looked.evidence);
      throw looked.thrown;
    default:
      return assertNever(looked);
  }
}

/** A look that failed told nothing. `thrown`: what must go on to the caller once that is on record: an abort, or a bug. */
type Look = LookedAt | { readonly kind: "failed"; readonly evidence: JsonObject; readonly thrown: unknown };

async function look(settlement: Settlement, sinceIso: string, signal: AbortSignal): Promise<Look> {
  try {
    return await settlement.look(sinceIso, signal);
  } catch (error) {
    const evidence = { errorCode: isCountersignError(error) ? error.code : null };
    if (isCountersignError(error) && !signal.aborted) return { kind: "inconclusive", evidence };
    return { kind: "failed", evidence, thrown: signal.aborted ? signal.reason : error };
  }
}

async function recordInconclusive(
  deps: GatewayDeps,
  run: RunContext,
  { trail, open, round }: Round,
  seen: JsonObject,
): Promise<ActionOutcome> {
  const { parsed, decision, settlement, number, error } = open;
  const { tool } = parsed.proposed;
  const text = resultText("unknown", `whether ${tool} was done on GitHub can't be told; a person must look`, []);
  const record = { ...wholeBody(0, 0), result: {}, error_code: error.code };
  const result = finish(deps, trail, open, { status: "unknown", text, record, refusal: null });
  const evidence = { recipe: settlement.recipe, round, github: seen };
  const facts = { evidence, texts: { result: resultBytes(result) }, try: number };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "reconcile_inconclusive", facts)]));
  return outcomeOf(deps, run, trail, { state: "reconcile_inconclusive", parsed, result, decision });
}

const finish = (
  deps: GatewayDeps,
  trail: Trail,
  { parsed }: OpenTry,
  presented: Parameters<typeof finishResult>[3],
): ReturnType<typeof finishResult> =>
  finishResult(trail, parsed, Math.max(0, deps.clock() - trail.startedAtMs), presented);
