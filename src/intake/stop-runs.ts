import {
  type DeliveryCode,
  type NewEntry,
  nonceSizeBytes,
  plainEntry,
  type RunId,
  type StopCause,
  type TraceId,
} from "../domain/index.ts";
import { type NewBatch, sealCommitted } from "../ledger/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Sender } from "./payload-shapes.ts";
import type { Reading, SignedDelivery, StopMark, StopScope } from "./reading.ts";
import { claimDelivery, type Outcome } from "./record-delivery.ts";

export type Stop = {
  readonly delivery: SignedDelivery;
  readonly reading: Reading;
  readonly businessKey: string;
  readonly cause: StopCause;
  readonly scope: StopScope;
  readonly at: string | null;
  readonly sender: Sender;
};

/** Why there is nothing to stop. */
type NothingStopped = Extract<DeliveryCode, "nothing_live" | "already_stopping" | "older_than_run">;

type LiveRun = { readonly runId: RunId; readonly traceId: TraceId; readonly attempt: number };

/** Runs were made or ended between the look and the lock; looked for again. */
class RunsChanged extends Error {}
const tries = 3;

/** How a stop is recorded that found nothing to stop. `confirm` throws where a run that it means was made meanwhile. */
export type NothingFound = {
  readonly code: NothingStopped;
  readonly stop: StopMark;
  readonly confirm: (tx: Transaction) => Promise<void>;
};

/**
 * Asks every live run of the scope to stop, in one transaction with the entries that say so: the worker obeys (GH-50). A
 * stop that finds nothing is recorded by the caller, without a key. Either way it is marked when it happened, so that the
 * later event wins in whichever order the two are stored: a trigger looks for later stops (`readFacts`), a stop for the
 * runs of earlier triggers, both in transactions that hold the ledger's lock.
 */
export async function stopRuns(
  deps: AcceptDeps,
  stop: Stop,
  recordNothing: (found: NothingFound) => Promise<Outcome>,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await findStoppable(deps.store.db, stop);
    try {
      if (found.kind === "some") return await requestStop(deps, stop, found.runs);
      const confirm = async (tx: Transaction): Promise<void> => {
        if ((await findStoppable(tx, stop)).kind === "some") throw new RunsChanged("a run was made meanwhile");
      };
      return await recordNothing({ code: found.code, stop: markOf(deps, stop), confirm });
    } catch (error) {
      if (!(error instanceof RunsChanged) || attempt === tries) throw error;
    }
  }
}

/** What has no time of its own that can be trusted happened when it came. */
const markOf = ({ clock }: Pick<AcceptDeps, "clock">, { scope, at }: Stop): StopMark => ({
  scope,
  at: new Date(at ?? clock()).toISOString(),
});

async function requestStop(deps: AcceptDeps, stop: Stop, runs: readonly LiveRun[]): Promise<Outcome> {
  const [only, ...others] = runs;
  const outcome = {
    result: "stopped",
    code: "done",
    runId: others.length === 0 ? (only?.runId ?? null) : null,
  } as const;
  await deps.ledger.append(null, stopBatch(deps, stop, runs), async (tx) => {
    const settlement = {
      ...outcome,
      answer: null,
      detail: { stoppedCount: runs.length },
      businessKey: stop.businessKey,
      stop: markOf(deps, stop),
    };
    await claimDelivery(deps, tx, { ...stop, settlement });
    const now = await findStoppable(tx, stop);
    const ids = now.kind === "some" ? now.runs.map(({ runId }) => runId) : [];
    if (ids.join() !== runs.map(({ runId }) => runId).join()) throw new RunsChanged("the live runs changed");
    const { numUpdatedRows } = await tx
      .updateTable("runs")
      .set({
        stop_requested_at: new Date(deps.clock()).toISOString(),
        stop_requested_by_id: String(stop.sender.id),
        stop_requested_by_login: stop.sender.login,
        stop_cause: stop.cause,
      })
      .where("run_id", "in", ids)
      .where("status", "!=", "completed")
      .where("stop_requested_at", "is", null)
      .executeTakeFirst();
    if (Number(numUpdatedRows) !== runs.length) throw new RunsChanged("a run has ended");
    // Nobody watches over a run that waits, or whose worker is gone: its job comes now (GH-52).
    for (const { runId } of runs) await deps.queue.enqueue(tx, "run", { runId }, { key: runId, priority: 1 });
  });
  return outcome;
}

type Stoppable =
  | { readonly kind: "some"; readonly runs: readonly LiveRun[] }
  | { readonly kind: "none"; readonly code: NothingStopped };

async function findStoppable(db: Pick<Transaction, "selectFrom">, stop: Stop): Promise<Stoppable> {
  const live = await liveRuns(db, stop.scope);
  if (live.length === 0) return { kind: "none", code: "nothing_live" };
  // A stop that was delivered late is for what ran then (GH-32). Times have whole seconds: the same one counts.
  const stopMs = Date.parse(stop.at ?? "");
  const meant = live.filter(({ triggered_at: from }) => !(stopMs < Math.floor(Date.parse(from ?? "") / 1000) * 1000));
  if (meant.length === 0) return { kind: "none", code: "older_than_run" };
  const open = meant.filter((run) => run.stop_requested_at === null);
  if (open.length === 0) return { kind: "none", code: "already_stopping" };
  return {
    kind: "some",
    runs: open.map((run) => ({ runId: run.run_id, traceId: run.trace_id, attempt: run.attempt })),
  };
}

/** A statement takes 65,535 values; a removal may name more repositories. */
const namedLimit = 1_000;

async function liveRuns(db: Pick<Transaction, "selectFrom">, scope: StopScope) {
  const live = db
    .selectFrom("runs")
    .select(["run_id", "repository_id", "trace_id", "attempt", "triggered_at", "stop_requested_at"])
    .where("status", "!=", "completed")
    .orderBy("run_id");
  switch (scope.kind) {
    case "item":
      return await live
        .where("repository_id", "=", String(scope.repositoryId))
        .where("issue_number", "=", scope.number)
        .execute();
    case "repositories": {
      const ids = new Set(scope.ids.map(String));
      const named = ids.size > 0 && ids.size <= namedLimit ? live.where("repository_id", "in", [...ids]) : live;
      return (await named.execute()).filter((run) => ids.has(run.repository_id));
    }
    case "installation":
      return await live.where("installation_id", "=", scope.id).execute();
  }
}

/** Who stopped it is sealed under the run's key where it is one run; of several, its row names the sender. */
function stopBatch(deps: AcceptDeps, stop: Stop, runs: readonly LiveRun[]): NewBatch {
  const reference = Buffer.from(deps.randomBytes(16)).toString("hex");
  const { id, login } = stop.sender;
  const text = new TextEncoder().encode(JSON.stringify({ reference, id: String(id), login }));
  const nonce = { bytes: deps.randomBytes(nonceSizeBytes), isNew: true };
  const { sealed, commitments } =
    runs.length === 1 ? sealCommitted(null, nonce, { stop_requester: text }) : { sealed: [], commitments: null };
  const entries = runs.map(
    ({ runId, traceId, attempt }): NewEntry => ({
      ...plainEntry,
      type: "run",
      runId,
      attempt,
      traceId,
      deliveryId: stop.delivery.deliveryId,
      actor: { kind: "person", reference },
      evidence: {
        kind: "stop_requested",
        cause: stop.cause,
        event: stop.reading.event,
        ...(commitments === null ? {} : { commitments }),
      },
    }),
  );
  return { entries, sealed };
}
