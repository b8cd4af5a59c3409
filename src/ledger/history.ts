import { isDeepStrictEqual } from "node:util";
import { type ActionState, isLegalTransition, type JsonObject, type LedgerEntry } from "../domain/index.ts";
import type { DerivedRow } from "./stored-log.ts";

/** A rule of the log that an entry breaks. */
export type HistoryFault =
  | "run_seq_gap"
  | "stale_fencing_token"
  | "time_backwards"
  | "decision_without_proposal"
  | "effect_without_decision"
  | "effect_without_intent"
  | "outcome_without_start"
  | "impossible_transition"
  | "try_gap"
  | "action_of_another_run"
  | "approval_used_twice"
  | "approval_not_live";

type ActionLife = {
  readonly runId: string | null;
  readonly tool: string | null;
  readonly firstIndex: number;
  readonly proposedAt: string;
  state: ActionState;
  try: number;
  decisionId: string | null;
  lastIndex: number;
  updatedAt: string;
  authorization: { readonly decisionId: string | null; readonly index: number } | null;
  intentIndex: number | null;
  readonly starts: { readonly try: number; readonly index: number }[];
};
type DecisionMade = {
  readonly actionId: string;
  readonly effect: string;
  readonly policyIds: readonly string[];
  readonly index: number;
};
type RunLife = { size: number; fencingToken: number | null };

/** What the entries so far add up to. */
export type History = {
  readonly actions: Map<string, ActionLife>;
  readonly decisions: Map<string, DecisionMade>;
  readonly runs: Map<string, RunLife>;
  readonly approvalsUsed: Set<string>;
  lastTime: string;
};

export const newHistory = (): History => ({
  actions: new Map(),
  decisions: new Map(),
  runs: new Map(),
  approvalsUsed: new Set(),
  lastTime: "",
});

/** Takes the next entry into the history; the rules that it breaks. It is taken in also where it breaks one. */
export function follow(history: History, entry: LedgerEntry): readonly HistoryFault[] {
  const faults = [...followTime(history, entry), ...followRun(history, entry)];
  switch (entry.type) {
    case "decision":
      return [...faults, ...followDecision(history, entry)];
    case "action":
      return [...faults, ...followAction(history, entry)];
    default:
      return faults;
  }
}

function followTime(history: History, entry: LedgerEntry): HistoryFault[] {
  const isBackwards = entry.time < history.lastTime;
  history.lastTime = entry.time;
  const { kind } = entry.evidence;
  const isExplained = entry.type === "service" && kind === "clock_step";
  return isBackwards && !isExplained ? ["time_backwards"] : [];
}

function followRun(history: History, entry: LedgerEntry): HistoryFault[] {
  if (entry.runId === null) return entry.runSeq === null ? [] : ["run_seq_gap"];
  const run = history.runs.get(entry.runId) ?? { size: 0, fencingToken: null };
  history.runs.set(entry.runId, run);
  const faults: HistoryFault[] = entry.runSeq === run.size ? [] : ["run_seq_gap"];
  run.size += 1;
  if (entry.fencingToken === null) return faults;
  if (entry.fencingToken < (run.fencingToken ?? 0)) return [...faults, "stale_fencing_token"];
  run.fencingToken = entry.fencingToken;
  return faults;
}

function followDecision(history: History, { actionId, decisionId, evidence, index }: LedgerEntry): HistoryFault[] {
  const { effect, policyIds } = evidence;
  if (decisionId !== null) {
    history.decisions.set(decisionId, {
      actionId: actionId ?? "",
      effect: String(effect),
      policyIds: Array.isArray(policyIds) ? policyIds.map(String) : [],
      index,
    });
  }
  return actionId !== null && decisionId !== null && history.actions.has(actionId) ? [] : ["decision_without_proposal"];
}

function followAction(history: History, entry: LedgerEntry): HistoryFault[] {
  const { actionId, state } = entry;
  if (actionId === null || state === null) return ["impossible_transition"];
  const life = history.actions.get(actionId);
  const faults: HistoryFault[] = [...transitionFault(life?.state ?? null, state)];
  if (life !== undefined && life.runId !== entry.runId) faults.push("action_of_another_run");
  const known = life ?? beginLife(entry, state);
  faults.push(...evidenceFaults(history, entry, known));
  history.actions.set(actionId, known);
  known.try = entry.try ?? known.try;
  known.state = state;
  known.decisionId = entry.decisionId ?? known.decisionId;
  known.lastIndex = entry.index;
  known.updatedAt = entry.time;
  return faults;
}

const toolOf = ({ tool }: JsonObject): string | null => (typeof tool === "string" ? tool : null);

const beginLife = (entry: LedgerEntry, state: ActionState): ActionLife => ({
  runId: entry.runId,
  tool: toolOf(entry.evidence),
  firstIndex: entry.index,
  proposedAt: entry.time,
  state,
  try: 0,
  decisionId: null,
  lastIndex: entry.index,
  updatedAt: entry.time,
  authorization: null,
  intentIndex: null,
  starts: [],
});

/** A pair that is not legal, by the name of what is missing where it has one (AUD-48). */
function transitionFault(from: ActionState | null, to: ActionState): HistoryFault[] {
  if (isLegalTransition(from, to)) return [];
  if (to === "started") return ["effect_without_intent"];
  if (to === "succeeded" || to === "failed_definite" || to === "unknown") return ["outcome_without_start"];
  return ["impossible_transition"];
}

/** What a state must rest on beside the state before it (AUD-5, AUD-36). */
function evidenceFaults(history: History, entry: LedgerEntry, life: ActionLife): HistoryFault[] {
  switch (entry.state) {
    case "authorized": {
      life.authorization = { decisionId: entry.decisionId, index: entry.index };
      return [...decisionFault(history, entry), ...approvalFaults(history, entry, life)];
    }
    case "intent_recorded": {
      life.intentIndex = entry.index;
      return life.authorization === null ? ["effect_without_decision"] : [];
    }
    case "started": {
      life.starts.push({ try: entry.try ?? 0, index: entry.index });
      return entry.try === life.try + 1 ? [] : ["try_gap"];
    }
    default:
      return [];
  }
}

function decisionFault(history: History, { decisionId, actionId }: LedgerEntry): HistoryFault[] {
  const decision = decisionId === null ? undefined : history.decisions.get(decisionId);
  return decision?.effect === "allow" && decision.actionId === actionId ? [] : ["effect_without_decision"];
}

function approvalFaults(history: History, { evidence }: LedgerEntry, life: ActionLife): HistoryFault[] {
  const { approvalId } = evidence;
  const wasGranted = life.state === "approval_granted";
  if (typeof approvalId !== "string") return wasGranted ? ["approval_not_live"] : [];
  const isUsed = history.approvalsUsed.has(approvalId);
  history.approvalsUsed.add(approvalId);
  return [
    ...(isUsed ? (["approval_used_twice"] as const) : []),
    ...(wasGranted ? [] : (["approval_not_live"] as const)),
  ];
}

/** The rows that the derived tables must hold, and no others. */
export function* derivedRows(history: History): Generator<DerivedRow> {
  for (const [run_id, { size, fencingToken }] of history.runs) {
    yield { table: "run_heads", columns: { run_id, size, fencing_token: fencingToken } };
  }
  for (const [decision_id, { actionId, effect, policyIds, index }] of history.decisions) {
    const columns = { decision_id, action_id: actionId, effect, policy_ids: policyIds, entry_index: index };
    yield { table: "decisions", columns };
  }
  for (const [action_id, life] of history.actions) yield* derivedOfAction(action_id, life);
}

function* derivedOfAction(action_id: string, life: ActionLife): Generator<DerivedRow> {
  yield {
    table: "actions",
    columns: {
      action_id,
      run_id: life.runId,
      tool: life.tool,
      state: life.state,
      try: life.try,
      decision_id: life.decisionId,
      first_index: life.firstIndex,
      last_index: life.lastIndex,
      proposed_at: life.proposedAt,
      updated_at: life.updatedAt,
    },
  };
  if (life.authorization !== null) {
    const { decisionId, index } = life.authorization;
    const columns = { action_id, decision_id: decisionId, effect: "allow", entry_index: index };
    yield { table: "authorizations", columns };
  }
  if (life.intentIndex !== null) yield { table: "intents", columns: { action_id, entry_index: life.intentIndex } };
  for (const start of life.starts) {
    yield { table: "starts", columns: { action_id, try: start.try, entry_index: start.index } };
  }
}

export const isSameRow = (left: DerivedRow, right: DerivedRow): boolean =>
  isDeepStrictEqual({ ...left.columns }, { ...right.columns });
