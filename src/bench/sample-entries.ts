import {
  type ActionId,
  type ActionState,
  type DecisionId,
  type IdSource,
  type NewEntry,
  newActionId,
  newDecisionId,
  plainEntry,
  type RunId,
} from "../domain/index.ts";

/** An entry about a run as a whole, about as large as most are. */
export function anEntry(runId: RunId, changes: Partial<NewEntry> = {}): NewEntry {
  return {
    ...plainEntry,
    type: "turn",
    runId,
    actor: { kind: "run", runId },
    evidence: { turn: 1, answered: true, finishReason: "tool_calls", callCount: 1 },
    ...changes,
  };
}

/** The entries of one action from proposal to rest, as the gateway writes them, without texts. */
export function actionEntries(ids: IdSource, runId: RunId): readonly NewEntry[] {
  const actionId: ActionId = newActionId(ids);
  const decisionId: DecisionId = newDecisionId(ids);
  const move = (state: ActionState, changes: Partial<NewEntry> = {}): NewEntry =>
    anEntry(runId, { type: "action", actionId, state, evidence: {}, ...changes });
  const digest = `hmac-sha256:${"0".repeat(64)}`;
  return [
    move("proposed", { evidence: { tool: "read_file", rawBytes: 60, turn: 1, ordinal: 0 } }),
    anEntry(runId, { type: "decision", actionId, decisionId, evidence: { effect: "allow", policyIds: ["read-all"] } }),
    move("authorized", { decisionId, evidence: { argumentsDigest: digest } }),
    move("intent_recorded", { evidence: { preconditions: [] } }),
    move("started", { try: 1 }),
    move("succeeded", { try: 1, evidence: { code: null, resultBytes: 512, argumentsDigest: digest } }),
  ];
}
