import { parseRunId, type RunId } from "../../domain/index.ts";
import { answerDelivery, answerJob } from "./answer-delivery.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { runJob } from "./hand-over.ts";
import { createPlaces, type Places } from "./places.ts";
import { type Busy, isAbandoned, whatIsFull } from "./take-run.ts";
import { tellWaiting } from "./tell-waiting.ts";
import { lookAtQuestions } from "./wait-for-answers.ts";
import { type WorkedOn, workOnRun } from "./work-on-run.ts";

/** Until a run is asked about again whose repository or installation has as many as it may have. */
const busyMs = 5_000;
const longestWaitMs = 60_000;
/** Takers of jobs beyond the places: a run that waits is told of, and one that is to stop is ended, while all places work. */
const spareTakers = 2;

type OnTrouble = (line: string, error: unknown) => void;

/**
 * Takes runs off the queue until the signal is aborted, several at a time; returns when those in hand have ended or were given
 * back. `onTrouble` hears of a run that could not be gone on with now: its job comes again.
 */
export async function workOnJobs(deps: GithubRunDeps, onTrouble: OnTrouble, signal: AbortSignal): Promise<void> {
  const queue = await deps.store.queue();
  await bringBack(deps);
  const places = createPlaces(deps.places, deps.operator.concurrency.runsPerInstallation);
  const work = async (data: { readonly [name: string]: unknown }, jobSignal: AbortSignal): Promise<void> => {
    const runId = parseRunId(String(data["runId"]));
    if (runId === null) return;
    try {
      const worked = await workInPlace(deps, places, runId, jobSignal);
      if (worked.kind === "busy") await stepBack(deps, runId, worked, onTrouble);
      if (worked.kind === "held") await comeAgain(deps, runId, Date.parse(worked.until) - deps.clock() + 1_000);
    } catch (error) {
      onTrouble(`run ${runId} rests: its job comes again`, error);
      throw error;
    }
  };
  const answer = (data: { readonly [name: string]: unknown }, jobSignal: AbortSignal): Promise<void> =>
    answerDelivery(deps, String(data["deliveryId"]), jobSignal);
  const working = Array.from({ length: deps.places + spareTakers }, () => queue.work(runJob, work, signal));
  await Promise.all([...working, queue.work(answerJob, answer, signal)]);
}

const noPlace = { kind: "place" } as const;

/** A run that is to stop needs no place: it ends without any work. */
async function workInPlace(deps: GithubRunDeps, places: Places, runId: RunId, signal: AbortSignal): Promise<WorkedOn> {
  const row = await readRow(deps, runId);
  if (row === undefined || row.status === "completed" || row.installation_id === null) return { kind: "over" };
  if (row.stop_requested_at !== null) return await workOnRun(deps, runId, signal);
  if (row.status === "waiting") {
    await lookAtQuestions(deps, runId);
    return { kind: "waiting" };
  }
  const why = (await deps.whyNoneTaken?.()) ?? null;
  if (why !== null) return { kind: "busy", waitsFor: { kind: why } };
  using place = places.take(row.installation_id);
  if (place === null) return { kind: "busy", waitsFor: (await whatIsFull(deps, deps.store.db, row)) ?? noPlace };
  return await workOnRun(deps, runId, signal);
}

/** The run waits, and says so once; its job comes again, at once where it was stopped meanwhile. */
async function stepBack(deps: GithubRunDeps, runId: RunId, { waitsFor }: Busy, onTrouble: OnTrouble): Promise<void> {
  await tellWaiting(deps, runId, waitsFor).catch((error: unknown) =>
    onTrouble(`run ${runId} waits, which could not be told`, error),
  );
  const isStopped = (await readRow(deps, runId))?.stop_requested_at != null;
  await comeAgain(deps, runId, isStopped ? 0 : busyMs);
}

const readRow = ({ store }: GithubRunDeps, runId: RunId) =>
  store.db
    .selectFrom("runs")
    .select(["installation_id", "repository_id", "status", "stop_requested_at"])
    .where("run_id", "=", runId)
    .executeTakeFirst();

/** Puts runs back on the queue that nobody works on: their worker is gone, or their job is. Of one that waits, what is due is looked at. */
async function bringBack(deps: GithubRunDeps): Promise<void> {
  const rows = await deps.store.db
    .selectFrom("runs")
    .select(["run_id", "status", "lease_owner", "lease_expires_at"])
    .where("status", "in", ["queued", "waiting", "in_progress"])
    .where("installation_id", "is not", null)
    .execute();
  const left = rows.filter((row) => row.status !== "in_progress" || isAbandoned(deps, row));
  for (const { run_id } of left) await comeAgain(deps, run_id, 0);
}

/** A run has one waiting job at most. */
async function comeAgain(deps: GithubRunDeps, runId: RunId, afterMs: number): Promise<void> {
  const queue = await deps.store.queue();
  const startAfterMs = Math.min(longestWaitMs, Math.max(0, afterMs));
  await deps.store.transaction((tx) => queue.enqueue(tx, runJob, { runId }, { startAfterMs, key: runId }));
}
