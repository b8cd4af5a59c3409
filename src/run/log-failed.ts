import {
  type ActionId,
  type ActionState,
  type JsonObject,
  type NewEntry,
  plainEntry,
  type Run,
} from "../domain/index.ts";
import type { RunLease } from "../ledger/index.ts";
import type { RunDeps } from "./run-deps.ts";

type OfRun = Pick<Run, "runId" | "traceId" | "attempt">;

const beforeStart: ReadonlySet<ActionState> = new Set<ActionState>([
  "proposed",
  "approval_pending",
  "approval_granted",
  "authorized",
  "intent_recorded",
]);

/**
 * Brings to rest what was not executed because the log failed, now that it is back (AUD-53). Where it had taken the intent
 * although its answer was lost, the action is on record as started: nothing was done, and that is certain.
 */
export async function cancelUnrecorded(
  deps: Pick<RunDeps, "store" | "ledger">,
  run: OfRun,
  lease: RunLease,
  actionIds: readonly ActionId[],
): Promise<void> {
  if (actionIds.length === 0) return;
  const rows = await readStates(deps, run, actionIds);
  const entries = rows.flatMap(({ actionId, state, number }): NewEntry[] => {
    const at = (to: ActionState, evidence: JsonObject): NewEntry =>
      entryOf(run, { actionId, state: to, number, evidence });
    if (beforeStart.has(state)) return [at("cancelled", { cause: "log_failed_before" })];
    const proof = "the log failed before the effect began";
    return state === "started" ? [at("failed_definite", { errorCode: "LEDGER_UNAVAILABLE", proof })] : [];
  });
  if (entries.length > 0) await deps.ledger.append(lease, { entries, sealed: [] });
}

/**
 * Says of each action whose outcome lies in the spool that it is not known how it ended, and what the spool says of it: it
 * is settled by looking at the world all the same (AUD-54). Said once: after it the action is no longer `started`.
 */
export async function recordSpooled(
  deps: Pick<RunDeps, "store" | "ledger" | "readSpools">,
  run: OfRun,
  lease: RunLease,
): Promise<void> {
  const spooled = (await deps.readSpools()).records.filter(({ runId }) => runId === run.runId);
  if (spooled.length === 0) return;
  const ids = [...new Set(spooled.map(({ actionId }) => actionId))];
  const rows = await readStates(deps, run, ids);
  const entries = rows.flatMap(({ actionId, state, number }): NewEntry[] => {
    const kept = spooled.findLast((one) => one.actionId === actionId && one.try === number);
    if (state !== "started" || kept === undefined) return [];
    const { digest, time } = kept;
    const evidence = { cause: "log_failed", errorCode: null, spooled: { state: kept.state, digest, time } };
    return [entryOf(run, { actionId, state: "unknown", number, evidence })];
  });
  if (entries.length > 0) await deps.ledger.append(lease, { entries, sealed: [] });
}

const readStates = ({ store }: Pick<RunDeps, "store">, { runId }: OfRun, actionIds: readonly ActionId[]) =>
  store.db
    .selectFrom("actions")
    .select(["action_id as actionId", "state", "try as number"])
    .where("run_id", "=", runId)
    .where("action_id", "in", [...actionIds])
    .orderBy("first_index")
    .execute();

type Step = {
  readonly actionId: ActionId;
  readonly state: ActionState;
  readonly number: number;
  readonly evidence: JsonObject;
};

const entryOf = ({ runId, traceId, attempt }: OfRun, { actionId, state, number, evidence }: Step): NewEntry => ({
  ...plainEntry,
  type: "action",
  runId,
  attempt,
  traceId,
  actionId,
  state,
  try: number > 0 ? number : null,
  evidence,
});
