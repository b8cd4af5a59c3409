import { CountersignError, plainEntry, type RunId, type StopCause } from "../domain/index.ts";
import { readKillSwitch, setKillSwitch } from "../store/index.ts";
import { runJob } from "./on-github/hand-over.ts";
import type { RunDeps } from "./run-deps.ts";
import { runBatch } from "./run-record.ts";

/** What the operator's hand on the whole service needs. */
export type OperatorDeps = Pick<RunDeps, "store" | "ledger" | "clock" | "randomBytes">;

/** `isNew`: it was not so before. `since`: ISO 8601. */
export type Switched = { readonly isNew: boolean; readonly since: string };

/**
 * The kill switch (SEC-5): from here on no run and no action starts, in any process on the database, and the runs under way
 * are asked to stop. Queued ones wait. Throws `LEDGER_UNAVAILABLE`; then nothing has changed.
 */
export async function pause(deps: OperatorDeps): Promise<Switched & { readonly stopped: readonly RunId[] }> {
  const switched = await turn(deps, true);
  const live = await deps.store.db
    .selectFrom("runs")
    .select("run_id")
    .where("status", "in", ["in_progress", "waiting"])
    .where("stop_requested_at", "is", null)
    .orderBy("run_id")
    .execute();
  const stopped: RunId[] = [];
  for (const { run_id: runId } of live) if (await requestStop(deps, runId, "paused")) stopped.push(runId);
  return { ...switched, stopped };
}

/** Ends the pause: queued runs are taken again. What was cancelled stays so. Throws `LEDGER_UNAVAILABLE`. */
export const resume = (deps: OperatorDeps): Promise<Switched> => turn(deps, false);

/** The row and the entry that says so, in one transaction (AUD-11). Said again it is on record again: nobody need guess. */
async function turn({ store, ledger, clock }: OperatorDeps, isPaused: boolean): Promise<Switched> {
  // A row that can't be read is written anew: the hand on the switch must not need it.
  const before = await readKillSwitch(store.db).catch(() => null);
  if (before?.isPaused === isPaused) return { isNew: false, since: before.since };
  const since = new Date(clock()).toISOString();
  const entry = { ...plainEntry, type: "service", evidence: { kind: isPaused ? "paused" : "resumed" } } as const;
  await ledger.append(null, { entries: [entry], sealed: [] }, (tx) => setKillSwitch(tx, isPaused, since));
  return { isNew: true, since };
}

/**
 * Asks one run to stop, as its own entry; its worker obeys, and one that nobody works on ends by its job. Answers whether
 * it did: a run that has ended, or is to stop already, is left as it is. Throws `NOT_FOUND` for no run.
 */
export async function requestStop(deps: OperatorDeps, runId: RunId, cause: StopCause): Promise<boolean> {
  const run = await deps.store.db
    .selectFrom("runs")
    .select(["run_id as runId", "trace_id as traceId", "attempt", "installation_id"])
    .where("run_id", "=", runId)
    .executeTakeFirst();
  if (run === undefined) throw new CountersignError("NOT_FOUND", `there is no run \`${runId}\``);
  const queue = await deps.store.queue();
  const evidence = { kind: "stop_requested", cause };
  try {
    await deps.ledger.append(null, runBatch(deps.randomBytes, run, { type: "run", evidence }), async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable("runs")
        .set({ stop_requested_at: new Date(deps.clock()).toISOString(), stop_cause: cause })
        .where("run_id", "=", runId)
        .where("status", "!=", "completed")
        .where("stop_requested_at", "is", null)
        .executeTakeFirst();
      if (numUpdatedRows !== 1n) throw new NothingToStop("it has ended or is to stop");
      if (run.installation_id !== null) await queue.enqueue(tx, runJob, { runId }, { key: runId, priority: 1 });
    });
    return true;
  } catch (error) {
    if (error instanceof NothingToStop) return false;
    throw error;
  }
}

/** Undoes the transaction. */
class NothingToStop extends Error {}
