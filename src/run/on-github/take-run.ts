import type { Selectable } from "kysely";
import type { RunId } from "../../domain/index.ts";
import { type RunLease, readRunEntries } from "../../ledger/index.ts";
import { type Database, ownerState, processOwner, readKillSwitch, type Transaction } from "../../store/index.ts";
import { leaseEnd } from "../lease.ts";
import { runBatch } from "../run-record.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";

/** Taken over this often, a run is given up (GH-35). */
const attemptsAtMost = 3;
/** An outage of the log is no attempt, but the work begins anew after it: a log that comes and goes must not cost without end. */
const outagesAtMost = 5;

/** What happened to a run too often for it to be gone on with. */
type GivenUp = "worker_lost" | "log_failed";

export type RunRow = Selectable<Database["runs"]>;

export type Taking =
  | { readonly kind: "taken"; readonly row: RunRow; readonly lease: RunLease; readonly givenUp: GivenUp | null }
  /** It has ended, or there is no such run. */
  | { readonly kind: "over" }
  /** A person is asked, and nobody works on it. */
  | { readonly kind: "waiting" }
  /** A worker that lives has it until then. */
  | { readonly kind: "held"; readonly until: string }
  | Busy;

/** Its repository or its installation has as many runs as it may have at once (GH-34), or no run is taken now. */
export type Busy = { readonly kind: "busy"; readonly waitsFor: WaitsFor };

export type WaitsFor =
  /** The run that its repository has under way. */
  | { readonly kind: "run"; readonly runId: RunId }
  | { readonly kind: "installation" | "place" | "pause" | "disk" | "ending" };

/**
 * Takes a queued run, or one whose worker is gone, under a new lease: a higher fencing token, so that an old worker can append
 * nothing more. Taking over after a lost lease counts as an attempt (AUD-10); after a hand-over it does not.
 */
export async function takeRun(deps: GithubRunDeps, runId: RunId): Promise<Taking> {
  const row = await deps.store.db.selectFrom("runs").selectAll().where("run_id", "=", runId).executeTakeFirst();
  if (row === undefined || row.status === "completed" || row.installation_id === null) return { kind: "over" };
  if (row.status === "waiting" && row.stop_requested_at === null) return { kind: "waiting" };
  const isTakeOver = row.status === "in_progress"; // after a wait it is no attempt (GH-35)
  if (!isAbandoned(deps, row)) return { kind: "held", until: row.lease_expires_at ?? "" };

  const attempt = row.attempt + (isTakeOver ? 1 : 0);
  const lease = { runId, fencingToken: row.fencing_token + 1 };
  const evidence = { status: "in_progress", takenOver: isTakeOver };
  const run = { runId, traceId: row.trace_id, attempt };
  try {
    await deps.ledger.append(lease, runBatch(deps.randomBytes, run, { type: "run", evidence }), (tx) =>
      claim(deps, tx, { ...row, attempt }, lease),
    );
  } catch (error) {
    if (error instanceof NotTaken) return error.taking;
    throw error;
  }
  return { kind: "taken", row: { ...row, attempt }, lease, givenUp: await whyGivenUp(deps, runId, attempt) };
}

async function whyGivenUp(deps: GithubRunDeps, runId: RunId, attempt: number): Promise<GivenUp | null> {
  if (attempt > attemptsAtMost) return "worker_lost";
  return (await outageCount(deps, runId)) > outagesAtMost ? "log_failed" : null;
}

/** How often a run was given back for an outage of the log, by the record. */
export async function outageCount({ store }: Pick<GithubRunDeps, "store">, runId: RunId): Promise<number> {
  const entries = await readRunEntries(store, runId);
  return entries.filter(({ type, evidence }) => type === "run" && evidence["cause"] === "log_failed").length;
}

/** Whether nobody works on a run that is under way: its lease ran out, or its process on this machine is dead. */
export function isAbandoned(
  { clock }: Pick<GithubRunDeps, "clock">,
  row: Pick<RunRow, "lease_owner" | "lease_expires_at">,
): boolean {
  if (row.lease_owner === null || row.lease_expires_at === null) return true;
  return Date.parse(row.lease_expires_at) <= clock() || ownerState(row.lease_owner) === "dead";
}

/** Rolls the taking back: what is thrown within the transaction comes out of it as it is. */
class NotTaken extends Error {
  readonly taking: Taking;

  constructor(taking: Taking) {
    super(`not taken: ${taking.kind}`);
    this.taking = taking;
  }
}

/** In the transaction of the entry, which holds the lock of the log: so two takings never count at once. */
async function claim(deps: GithubRunDeps, tx: Transaction, row: RunRow, lease: RunLease): Promise<void> {
  const waitsFor = (await isHeldBack(tx, row)) ? ({ kind: "pause" } as const) : await whatIsFull(deps, tx, row);
  if (waitsFor !== null) throw new NotTaken({ kind: "busy", waitsFor });
  const taken = await tx
    .updateTable("runs")
    .set({
      status: "in_progress",
      attempt: row.attempt,
      fencing_token: lease.fencingToken,
      lease_owner: processOwner(),
      lease_expires_at: leaseEnd(deps.clock(), deps.times.leaseMs),
    })
    .where("run_id", "=", row.run_id)
    .where("fencing_token", "=", row.fencing_token)
    .where("status", "=", row.status)
    .executeTakeFirst();
  if (taken.numUpdatedRows !== 1n)
    throw new NotTaken({ kind: "held", until: leaseEnd(deps.clock(), deps.times.leaseMs) });
}

/** SEC-5: while all is paused no run is taken, but one that is to stop, to be ended. Throws `KILL_SWITCH_UNREADABLE`. */
async function isHeldBack(tx: Transaction, row: RunRow): Promise<boolean> {
  const { isPaused } = await readKillSwitch(tx);
  return isPaused && row.stop_requested_at === null;
}

/**
 * Why a queued run has to wait; null where it need not. One that is to stop is taken all the same, to be ended (GH-52).
 */
export async function whatIsFull(
  { operator }: GithubRunDeps,
  tx: Pick<Transaction, "selectFrom">,
  row: Pick<RunRow, "status" | "stop_requested_at" | "installation_id" | "repository_id">,
): Promise<WaitsFor | null> {
  if (row.status !== "queued" || row.stop_requested_at !== null) return null;
  const working = await tx
    .selectFrom("runs")
    .select(["run_id", "repository_id"])
    .where("status", "=", "in_progress")
    .where("installation_id", "=", row.installation_id)
    .orderBy("run_id")
    .execute();
  const inRepository = working.filter(({ repository_id }) => repository_id === row.repository_id);
  const { runsPerInstallation, runsPerRepository } = operator.concurrency;
  const [first] = inRepository;
  if (first !== undefined && inRepository.length >= runsPerRepository) return { kind: "run", runId: first.run_id };
  return working.length >= runsPerInstallation ? { kind: "installation" } : null;
}
