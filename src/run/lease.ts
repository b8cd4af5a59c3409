import { CountersignError, type RunId } from "../domain/index.ts";
import type { RunLease } from "../ledger/index.ts";
import type { Store } from "../store/index.ts";

const leaseMs = 60_000;
const renewEveryMs = 20_000;

/** The time until which a lease taken or renewed now is good. */
export const leaseEnd = (nowMs: number, forMs = leaseMs): string => new Date(nowMs + forMs).toISOString();

/** How long a lease is good, and how often it is renewed. */
export type LeaseTimes = { readonly leaseMs: number; readonly renewEveryMs: number };
export const defaultLeaseTimes: LeaseTimes = { leaseMs, renewEveryMs };

/** Holds a run's lease until it is disposed; `lost` is aborted with `LEDGER_CONFLICT` when another worker has taken it. */
export type HeldLease = AsyncDisposable & { readonly lost: AbortSignal };

/** Renews a lease while the run lives. A worker that could not renew in time finds its appends refused (AUD-7). */
export function holdLease(
  deps: { readonly store: Store; readonly clock: () => number },
  lease: RunLease,
  times: LeaseTimes = defaultLeaseTimes,
): HeldLease {
  const lost = new AbortController();
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renew(deps, lease, times.leaseMs).then(
      (isOurs) => {
        if (!isOurs) lost.abort(new CountersignError("LEDGER_CONFLICT", `run \`${lease.runId}\` was taken over`));
      },
      // The database does not answer: the next append says so, with its own error.
      () => undefined,
    );
  }, times.renewEveryMs);
  timer.unref();
  return {
    lost: lost.signal,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}

async function renew(
  deps: { readonly store: Store; readonly clock: () => number },
  lease: RunLease,
  forMs: number,
): Promise<boolean> {
  const renewed = await deps.store.db
    .updateTable("runs")
    .set({ lease_expires_at: leaseEnd(deps.clock(), forMs) })
    .where("run_id", "=", lease.runId)
    .where("fencing_token", "=", lease.fencingToken)
    .executeTakeFirst();
  return renewed.numUpdatedRows === 1n;
}

/** Takes over a run whose worker is gone: a higher fencing token, so that the old worker can append nothing more. */
export async function takeOver(
  deps: { readonly store: Store; readonly clock: () => number },
  run: { readonly runId: RunId; readonly fencingToken: number; readonly owner: string },
): Promise<RunLease | null> {
  const fencingToken = run.fencingToken + 1;
  const taken = await deps.store.db
    .updateTable("runs")
    .set((row) => ({
      fencing_token: fencingToken,
      attempt: row("attempt", "+", 1),
      lease_owner: run.owner,
      lease_expires_at: leaseEnd(deps.clock()),
    }))
    .where("run_id", "=", run.runId)
    .where("fencing_token", "=", run.fencingToken)
    .where("status", "!=", "completed")
    .executeTakeFirst();
  return taken.numUpdatedRows === 1n ? { runId: run.runId, fencingToken } : null;
}
