import {
  type ActionId,
  type ActionOutcome,
  type ActionState,
  CountersignError,
  type ErrorCode,
  errorCatalogue,
  type LedgerEntry,
  type ProposedAction,
  statesAtRest,
  type ToolCallPlace,
} from "../domain/index.ts";
import { type Keys, type OpenedText, readActionEntries, readActionTexts, readNonce } from "../ledger/index.ts";
import type { Store } from "../store/index.ts";
import { githubContext } from "./action-context.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { lookInRounds, maxRounds, type OpenTry } from "./look-in-rounds.ts";
import { outcomeOf, refusalResult, resultBytes } from "./outcome.ts";
import { type ParsedAction, parse } from "./parse.ts";
import { recordedOutcome } from "./recorded-outcome.ts";
import { notExecuted } from "./refusals.ts";
import type { RunContext } from "./run-context.ts";
import { settlementOf } from "./settlement.ts";
import { batchOf, stepOf, type Trail } from "./trail.ts";

/** With what an action is read back that another process began. */
export type RecoveryDeps = GatewayDeps & { readonly store: Store; readonly keys: Keys };

/**
 * Settles a write to GitHub whose worker is gone, by looking and never by writing (AUD-6): what was started becomes
 * `unknown` and is looked for, what was not started is cancelled, and of what is at rest the recorded outcome is told again.
 * The outcome says whether the write stands (`status` "ok", with its `result` in the record), so that nobody does it twice.
 * Throws a plain `Error` for an action of another kind, `KEYS_UNUSABLE` where its arguments can't be opened, and the signal's
 * reason after an abort.
 */
export async function reconcileOpen(
  deps: RecoveryDeps,
  run: RunContext,
  actionId: ActionId,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const begun = await readBegun(deps, actionId);
  if (begun.action.parsed.action.place !== "github") throw new Error(`action ${actionId} is no write to GitHub`);
  if (statesAtRest.has(begun.state)) return recordedOutcome(run, begun.action, begun);
  const steps = stepsToOpen(begun);
  if (steps === null) return cancel(deps, run, begun.action);
  const { trail } = begun.action;
  const number = begun.tries;
  const interrupted = steps.map(({ state, evidence }) => stepOf(run, trail, state, { evidence, try: number }));
  if (interrupted.length > 0) await deps.ledger.append(run.lease, batchOf(interrupted));
  return lookInRounds(deps, run, { trail, open: openTry(run, begun) }, signal);
}

/** An action as the record has it, not yet parsed. */
export type StoredAction = {
  readonly trail: Trail;
  readonly entries: readonly LedgerEntry[];
  readonly texts: readonly OpenedText[];
  readonly state: ActionState;
  /** How often it was started. */
  readonly tries: number;
};

/** An action as another process left it. */
type Begun = Omit<StoredAction, "trail"> & { readonly action: BegunAction };
export type BegunAction = { readonly trail: Trail; readonly parsed: ParsedAction };

async function readBegun(deps: RecoveryDeps, actionId: ActionId): Promise<Begun> {
  const { trail, ...stored } = await readStoredAction(deps, actionId);
  const parsed = parse(deps.catalogue, trail.proposed);
  if (parsed.kind === "refused") throw new Error(`action ${actionId} was begun with arguments that don't parse`);
  return { ...stored, action: { trail, parsed } };
}

/** Reads an action back. Throws `KEYS_UNUSABLE` where its arguments can't be opened, a plain `Error` where there is none. */
export async function readStoredAction(
  deps: Pick<RecoveryDeps, "store" | "keys">,
  actionId: ActionId,
): Promise<StoredAction> {
  const entries = await readActionEntries(deps.store, actionId);
  const texts = await readActionTexts(deps, actionId);
  const nonce = await readNonce(deps, actionId);
  const [first] = entries;
  const raw = texts.find(({ field }) => field === "raw")?.bytes ?? null;
  if (first === undefined || first.runId === null) throw new Error(`the ledger has no action ${actionId}`);
  if (raw === null || nonce === null) {
    throw new CountersignError("KEYS_UNUSABLE", `the arguments of action \`${actionId}\` can't be opened`);
  }
  const proposed: ProposedAction = {
    actionId,
    runId: first.runId,
    principal: first.actor.kind === "run" ? first.actor : { kind: "system" },
    tool: String(first.evidence["tool"]),
    rawArguments: Buffer.from(raw).toString("utf8"),
    call: callOf(first),
    compensates: null,
  };
  const startedAtMs = Date.parse(first.time);
  const trail = { proposed, nonce, startedAtMs, proposalId: first.id, approvalId: null };
  const states = entries.flatMap(({ state }) => state ?? []);
  const tries = states.filter((state) => state === "started").length;
  return { trail, entries, texts, state: states.at(-1) ?? "proposed", tries };
}

/** The place in the conversation, from which the operation key is made (ACI-45); null for the host's own actions. */
function callOf({ evidence }: LedgerEntry): ToolCallPlace | null {
  const { turn, ordinal, toolCallId, modelResponseId } = evidence;
  if (typeof turn !== "number" || typeof ordinal !== "number") return null;
  const responseId = typeof modelResponseId === "string" ? modelResponseId : null;
  return { turn, ordinal, toolCallId: String(toolCallId ?? ""), modelResponseId: responseId };
}

/** What must be said of the interruption before it can be looked; null where nothing was started. */
function stepsToOpen({ state, entries }: Begun) {
  switch (state) {
    case "started":
      return [{ state: "unknown", evidence: { cause: "crash", errorCode: null } }] as const;
    case "reconciling": {
      const { recipe = null, round = null } = entries.at(-1)?.evidence ?? {};
      return [{ state: "reconcile_inconclusive", evidence: { recipe, round, cause: "crash" } }] as const;
    }
    case "unknown":
    case "reconcile_inconclusive":
      return [];
    default:
      return null;
  }
}

/** Rounds go on being counted; whoever takes over looks at least once more. */
function openTry(run: RunContext, { action, entries, tries }: Begun): OpenTry {
  const { parsed } = action;
  const settlement = settlementOf(parsed.action, githubContext(run, parsed), parsed.arguments);
  if (settlement === null) throw new Error(`${parsed.proposed.tool} can't be looked for`);
  const started = entries.findLastIndex(({ state }) => state === "started");
  const rounds = entries.slice(started).filter(({ state }) => state === "reconciling").length;
  const sinceIso = entries.find(({ state }) => state === "intent_recorded")?.time ?? "";
  const code = lostWith(entries);
  return {
    parsed,
    decision: null,
    settlement,
    sinceIso,
    number: tries,
    error: { code, remedy: errorCatalogue[code].remedy },
    firstRound: rounds + 1,
    lastRound: Math.max(rounds + 1, maxRounds),
  };
}

function lostWith(entries: readonly LedgerEntry[]): ErrorCode {
  const code = entries.findLast(({ state }) => state === "unknown")?.evidence["errorCode"];
  return typeof code === "string" && Object.hasOwn(errorCatalogue, code) ? (code as ErrorCode) : "GITHUB_UNAVAILABLE";
}

async function cancel(deps: GatewayDeps, run: RunContext, { trail, parsed }: BegunAction): Promise<ActionOutcome> {
  const result = refusalResult(deps, trail, parsed, notExecuted(null, "its worker ended before it was started"));
  const cancelled = { evidence: { cause: "crash" }, texts: { result: resultBytes(result) } };
  await deps.ledger.append(run.lease, batchOf([stepOf(run, trail, "cancelled", cancelled)]));
  return outcomeOf(deps, run, trail, { state: "cancelled", parsed, result, decision: null });
}
