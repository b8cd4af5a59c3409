import type {
  Conclusion,
  JsonObject,
  JsonValue,
  NewEntry,
  Run,
  RunStatus,
  SealedField,
  StopReason,
} from "../domain/index.ts";
import type { RunLease } from "../ledger/index.ts";
import { leaseEnd } from "./lease.ts";
import type { RunDeps } from "./run-deps.ts";

const encoder = new TextEncoder();

/** A text of the run as a whole, sealed under the run's own key. */
export const sealedText = (field: string, text: string): SealedField => ({
  actionId: null,
  field,
  plaintext: encoder.encode(text),
});

/** An entry about the run itself: status, phase, model turn. */
export function runEntry(
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  type: "run" | "turn",
  evidence: JsonObject,
): NewEntry {
  return {
    type,
    runId: run.runId,
    attempt: run.attempt,
    traceId: run.traceId,
    actionId: null,
    state: null,
    try: null,
    decisionId: null,
    deliveryId: null,
    parentId: null,
    actor: { kind: "system" },
    evidence,
  };
}

/** The first entry of a run with its row, one transaction: from here on it can be found. */
export async function recordStart(
  deps: RunDeps,
  start: {
    readonly run: Run;
    readonly lease: RunLease;
    readonly owner: string;
    readonly evidence: JsonObject;
    readonly sealed: readonly SealedField[];
  },
): Promise<void> {
  const { run, lease } = start;
  const row = {
    run_id: run.runId,
    trace_id: run.traceId,
    repository_id: run.repository.id,
    repository_name: run.repository.name,
    requester_id: run.requester.id,
    requester_login: run.requester.login,
    requester_permission: run.requester.permission,
    issue_number: null,
    base_sha: run.baseSha,
    status: run.status,
    conclusion: null,
    stop_reason: null,
    fencing_token: lease.fencingToken,
    lease_owner: start.owner,
    lease_expires_at: leaseEnd(deps.clock()),
    started_at: run.startedAt,
    completed_at: null,
    limits: JSON.stringify(run.limits),
  };
  const entry = runEntry(run, "run", { status: run.status, ...start.evidence });
  await deps.ledger.append(lease, { entries: [entry], sealed: start.sealed }, async (tx) => {
    await tx.insertInto("runs").values(row).execute();
  });
}

/** A policy set that decides something is kept as long as decisions refer to it (AUD-25). */
export async function keepPolicySet(deps: RunDeps): Promise<void> {
  const { policySetDigest, policyText } = deps.policies;
  const content: Record<string, JsonValue> = Object.fromEntries(policyText);
  const row = { digest: policySetDigest, content: JSON.stringify(content), created_at: timeOf(deps) };
  await deps.store.db
    .insertInto("policy_sets")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Tells the ledger that a phase begins. */
export async function recordPhase(deps: RunDeps, run: Run, lease: RunLease, phase: string): Promise<void> {
  await deps.ledger.append(lease, { entries: [runEntry(run, "run", { phase })], sealed: [] });
}

/** The last entry of a run with its row. */
export async function recordEnd(
  deps: RunDeps,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  lease: RunLease,
  end: {
    readonly conclusion: Conclusion;
    readonly stopReason: StopReason | null;
    readonly evidence: JsonObject;
    readonly sealed: readonly SealedField[];
  },
): Promise<void> {
  const status: RunStatus = "completed";
  const { conclusion, stopReason } = end;
  const entry = runEntry(run, "run", { status, conclusion, stopReason, ...end.evidence });
  await deps.ledger.append(lease, { entries: [entry], sealed: end.sealed }, async (tx) => {
    await tx
      .updateTable("runs")
      .set({ status, conclusion, stop_reason: stopReason, lease_owner: null, completed_at: timeOf(deps) })
      .where("run_id", "=", run.runId)
      .execute();
  });
}

const timeOf = (deps: RunDeps): string => new Date(deps.clock()).toISOString();
