import {
  type Conclusion,
  type JsonObject,
  type JsonValue,
  type NewEntry,
  nonceSizeBytes,
  plainEntry,
  type RandomBytes,
  type Run,
  type RunStatus,
  type StopReason,
} from "../domain/index.ts";
import { type NewBatch, type RunLease, sealCommitted } from "../ledger/index.ts";
import type { RepositorySettings } from "../policy/index.ts";
import type { Transaction } from "../store/index.ts";
import { leaseEnd } from "./lease.ts";
import { repositoryPoliciesField } from "./replay-decisions.ts";
import type { RunDeps } from "./run-deps.ts";
import type { Session } from "./session.ts";

const encoder = new TextEncoder();

type RunStep = {
  readonly type: "run" | "turn";
  readonly evidence: JsonObject;
  /** Sealed under the run's own key, each with its commitment in the entry. */
  readonly texts?: Readonly<Record<string, string>>;
};

/** An entry about the run itself (status, phase, model turn) with its texts. */
export function runBatch(
  randomBytes: RandomBytes,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  { type, evidence, texts }: RunStep,
): NewBatch {
  const encoded = Object.fromEntries(Object.entries(texts ?? {}).map(([name, text]) => [name, encoder.encode(text)]));
  const nonce = { bytes: randomBytes(nonceSizeBytes), isNew: true };
  const { sealed, commitments } = sealCommitted(null, nonce, encoded);
  const entry: NewEntry = {
    ...plainEntry,
    type,
    runId: run.runId,
    attempt: run.attempt,
    traceId: run.traceId,
    evidence: texts === undefined ? evidence : { ...evidence, commitments },
  };
  return { entries: [entry], sealed: texts === undefined ? [] : sealed };
}

/** The first entry of a run with its row, one transaction: from here on it can be found. */
export async function recordStart(
  deps: RunDeps,
  start: {
    readonly run: Run;
    readonly lease: RunLease;
    readonly owner: string;
    readonly evidence: JsonObject;
    readonly texts: Readonly<Record<string, string>>;
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
  const step = { type: "run", evidence: { status: run.status, ...start.evidence }, texts: start.texts } as const;
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, step), async (tx) => {
    await tx.insertInto("runs").values(row).execute();
  });
}

/** The base of a queued run, once it is fixed: the commit that all its work starts from. */
export async function recordBase(
  deps: RunDeps,
  fixed: {
    readonly run: Run;
    readonly lease: RunLease;
    readonly base: { readonly branch: string; readonly sha: string };
    readonly name: string;
    /** Hidden things taken out of the issue's texts, by kind (SEC-15). */
    readonly hiddenRemoved: JsonObject;
    readonly texts: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { run, lease, base } = fixed;
  const evidence = {
    phase: "prepare",
    baseSha: base.sha,
    policySetDigest: deps.policies.policySetDigest,
    limitsRung: deps.workspace.rung,
    hiddenRemoved: fixed.hiddenRemoved,
    limits: { ...run.limits },
  };
  const step = {
    type: "run",
    evidence,
    ...(Object.keys(fixed.texts).length === 0 ? {} : { texts: fixed.texts }),
  } as const;
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, step), async (tx) => {
    await tx
      .updateTable("runs")
      .set({ base_sha: base.sha, repository_name: fixed.name, limits: JSON.stringify(run.limits) })
      .where("run_id", "=", run.runId)
      .execute();
  });
}

type HandingOver = {
  readonly run: Pick<Run, "runId" | "traceId" | "attempt">;
  readonly lease: RunLease;
  readonly cause: string;
};

/** A run that goes back to the queue; `within` puts its job there in the same transaction. */
export async function recordHandOver(
  deps: RunDeps,
  { run, lease, cause }: HandingOver,
  within: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const status: RunStatus = "queued";
  const evidence = { status, cause };
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, { type: "run", evidence }), async (tx) => {
    await tx
      .updateTable("runs")
      .set({ status, ...noLease })
      .where("run_id", "=", run.runId)
      .where("fencing_token", "=", lease.fencingToken)
      .execute();
    await within(tx);
  });
}

/** A run that nobody works on until a person answers; `within` frees it in the same transaction. */
export async function recordWaiting(
  deps: RunDeps,
  { run, lease }: Pick<Session, "run" | "lease">,
  waiting: { readonly evidence: JsonObject; readonly texts: Readonly<Record<string, string>> },
  within: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const status: RunStatus = "waiting";
  const step = { type: "run", evidence: { status, ...waiting.evidence }, texts: waiting.texts } as const;
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, step), within);
}

/** What the repository forbids, sealed with the run: its decisions can be made again by it (AUD-31). */
export const forbidTexts = ({ forbid }: Pick<RepositorySettings, "forbid">): Readonly<Record<string, string>> =>
  forbid.length === 0 ? {} : { [repositoryPoliciesField]: JSON.stringify(forbid) };

/** A policy set that decides something is kept, before its first decision and as long as decisions refer to it (AUD-25). */
export async function keepPolicySet(deps: Pick<RunDeps, "policies" | "store" | "clock">): Promise<void> {
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
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, { type: "run", evidence: { phase } }));
}

/** The last entry of a run with its row. */
export async function recordEnd(
  deps: RunDeps,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  lease: RunLease,
  end: {
    readonly conclusion: Conclusion;
    readonly stopReason: StopReason | null;
    /** Null where it is not known: the run then counts as all that it might have used. */
    readonly used: Pick<Session["used"], "inputTokens" | "outputTokens"> | null;
    readonly evidence: JsonObject;
    readonly texts: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const status: RunStatus = "completed";
  const { conclusion, stopReason, used } = end;
  const usedTokens = used === null ? null : used.inputTokens + used.outputTokens;
  const evidence = { status, conclusion, stopReason, ...end.evidence };
  const step = { type: "run", evidence, texts: end.texts } as const;
  await deps.ledger.append(lease, runBatch(deps.randomBytes, run, step), async (tx) => {
    await tx
      .updateTable("runs")
      .set({
        status,
        conclusion,
        stop_reason: stopReason,
        used_tokens: usedTokens,
        completed_at: timeOf(deps),
        ...noLease,
      })
      .where("run_id", "=", run.runId)
      .execute();
  });
}

/** A run that has ended is held by nobody. */
const noLease = { lease_owner: null, lease_expires_at: null };

const timeOf = (deps: Pick<RunDeps, "clock">): string => new Date(deps.clock()).toISOString();
