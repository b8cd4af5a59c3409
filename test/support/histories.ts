import fc from "fast-check";
import {
  type ActionId,
  type ActionState,
  type DecisionId,
  type EntryId,
  type JsonObject,
  type LedgerEntry,
  legalTransitions,
  type NewEntry,
  type RunId,
  type TraceId,
} from "../../src/domain/index.ts";
import { anEntry } from "./test-ledger.ts";

const uuid = (kind: number, number: number): string =>
  `00000000-000${kind}-7000-8000-${number.toString(16).padStart(12, "0")}`;
export const aRunId = uuid(1, 1) as RunId;
export const actionIdOf = (number: number): ActionId => uuid(2, number) as ActionId;
const decisionIdOf = (number: number): DecisionId => uuid(3, number) as DecisionId;

/** Words that stand nowhere but in the evidence of entries, where no span may take them from. */
export const plantedWord = "planted word with spaces";

/** Gives entries their places, a second apart, as one run of one log. */
export function placed(entries: readonly NewEntry[], startMs = Date.UTC(2026, 0, 1)): readonly LedgerEntry[] {
  return entries.map((entry, index) => ({
    ...entry,
    version: 1,
    id: uuid(4, index) as EntryId,
    origin: "countersign/test",
    index,
    runSeq: index,
    fencingToken: 1,
    traceId: null as TraceId | null,
    time: new Date(startMs + index * 1000).toISOString(),
  }));
}

/** Evidence such as each state has, with a text where there may be none. */
function evidenceOf(state: ActionState): JsonObject {
  const texts = {
    text: plantedWord,
    code: plantedWord,
    position: plantedWord,
    stage: "validate",
    cause: "reset",
    errorCode: "E_CODE",
  };
  const proposed = { tool: "read_file", toolCallId: "call_1", rawDigest: "raw:hmac-sha256:00" };
  if (state === "proposed") return { ...texts, ...proposed };
  if (state === "authorized") return { ...texts, argumentsDigest: "hmac-sha256:00", risk: "SAFE" };
  if (state === "reconciling") return { ...texts, recipe: "drop_workspace", round: 1 };
  if (state === "succeeded") return { text: plantedWord, status: "ok", code: null };
  if (state === "resolved_by_person") return { ...texts, applied: true };
  return { ...texts, approvalId: uuid(5, 1), channel: "terminal" };
}

type Walk = { readonly number: number; readonly states: readonly ActionState[] };

/** A legal way through the states, as long as the choices last. */
function walk(number: number, choices: readonly number[]): Walk {
  const states: ActionState[] = ["proposed"];
  for (const choice of choices) {
    const next = legalTransitions.get(states.at(-1) ?? null) ?? [];
    if (next.length === 0) break;
    states.push(next[choice % next.length] ?? "proposed");
  }
  return { number, states };
}

/** The entries of one action: a decision stands before each state that needs one. */
export function actionEntries({ number, states }: Walk, runId: RunId = aRunId): readonly NewEntry[] {
  let tries = 0;
  return states.flatMap((state, at) => {
    if (state === "started") tries += 1;
    const actionId = actionIdOf(number);
    const decisionId = decisionIdOf(number * 10 + (states[at - 1] === "approval_granted" ? 1 : 0));
    const decides = { authorized: "allow", denied: "deny", approval_pending: "require_approval" } as const;
    const effect = state in decides ? decides[state as keyof typeof decides] : null;
    const move = anEntry(runId, {
      type: "action",
      actionId,
      state,
      try: tries > 0 ? tries : null,
      decisionId: effect === null ? null : decisionId,
      evidence: evidenceOf(state),
    });
    const evidence = { effect, policyIds: ["some-policy", plantedWord], policySetDigest: "p", durationUs: 1500 };
    return effect === null
      ? [move]
      : [anEntry(runId, { type: "decision", actionId, decisionId, evidence: evidence as JsonObject }), move];
  });
}

const phases = ["prepare", "verify_before", "work", "verify_after", "publish", "settle", "setup"];
const turn = (runId: RunId): NewEntry =>
  anEntry(runId, {
    evidence: {
      answered: true,
      requestModel: "some-model",
      model: plantedWord,
      responseId: "r1",
      finishReason: "stop",
      usage: { inputTokens: 10, outputTokens: 2 },
      text: plantedWord,
    },
  });

/** What happens in a run, as choices that a generator makes. */
type Step = { readonly kind: "action" | "phase" | "turn" | "takeover"; readonly number: number };

/** Any legal history of one run that has ended: actions side by side, phases, turns, attempts. */
export const endedRun: fc.Arbitrary<readonly NewEntry[]> = fc
  .record({
    walks: fc.array(fc.array(fc.nat(20), { maxLength: 12 }), { maxLength: 5 }),
    steps: fc.array(
      fc.record({
        kind: fc.constantFrom("action", "action", "action", "phase", "turn", "takeover"),
        number: fc.nat(20),
      }),
      { maxLength: 60 },
    ),
    conclusion: fc.constantFrom("success", "failure", "cancelled", "timed_out", "action_required", "neutral"),
  })
  .map(({ walks, steps, conclusion }) => {
    const queues = walks.map((choices, number) => [...actionEntries(walk(number, choices))]);
    return endedHistory(queues, steps as readonly Step[], conclusion);
  });

function endedHistory(queues: NewEntry[][], steps: readonly Step[], conclusion: string): readonly NewEntry[] {
  const begun = { status: "in_progress", phase: "prepare", baseSha: "b".repeat(40), issueNumber: 7, text: plantedWord };
  const ended = { status: "completed", conclusion, stopReason: "finished", cause: plantedWord };
  let attempt = 0;
  const entries = steps.flatMap((step) => {
    if (step.kind === "takeover" && step.number < 3) attempt += 1;
    const entry = entryOf(queues, step);
    return entry === undefined ? [] : [{ ...entry, attempt }];
  });
  const last = { ...anEntry(aRunId, { type: "run", evidence: ended }), attempt };
  return [anEntry(aRunId, { type: "run", evidence: begun }), ...entries, last];
}

function entryOf(queues: NewEntry[][], { kind, number }: Step): NewEntry | undefined {
  if (kind === "turn") return turn(aRunId);
  if (kind === "action") return queues[number % Math.max(queues.length, 1)]?.shift();
  const phase = phases[number % phases.length] ?? "work";
  return kind === "phase" ? anEntry(aRunId, { type: "run", evidence: { phase } }) : undefined;
}
