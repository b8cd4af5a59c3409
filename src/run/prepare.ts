import { CountersignError, newRunId, type Run } from "../domain/index.ts";
import type { RunLease } from "../ledger/index.ts";
import { processOwner, readKillSwitch } from "../store/index.ts";
import { type IssueTexts, removedOf } from "./issue-texts.ts";
import { limitsOf, openSession, readSettings } from "./open-session.ts";
import type { LocalRequest, RunDeps } from "./run-deps.ts";
import { forbidTexts, recordStart } from "./run-record.ts";
import type { Session } from "./session.ts";

/**
 * From a request to a run that is on record: the base fixed, settings and policies read from its commit, keys made, the
 * lease taken. Throws before anything is recorded where the repository or its settings can't be used, `PAUSED`, and `DISK_FULL`.
 */
export async function prepare(deps: RunDeps, request: LocalRequest, signal: AbortSignal): Promise<Session> {
  const startedAtMs = deps.clock();
  await deps.requireRoom?.();
  const { isPaused, since } = await readKillSwitch(deps.store.db); // SEC-5
  if (isPaused) throw new CountersignError("PAUSED", `Countersign is paused by its operator since ${since}`);
  const { base, repository, uncommitted } = await deps.workspace.openBase(request.source, signal);
  const read = await readSettings(deps, base);

  const runId = newRunId(deps);
  await deps.keys.createRun(runId);
  const run: Run = {
    runId,
    traceId: deps.keys.traceId(runId),
    repository,
    requester: request.requester,
    issueTitle: request.issue.title.text,
    baseSha: base.commitSha,
    status: "in_progress",
    conclusion: null,
    stopReason: null,
    attempt: 0,
    startedAt: new Date(startedAtMs).toISOString(),
    limits: limitsOf(read.settings),
  };
  const lease: RunLease = { runId, fencingToken: 1 };
  const requesterReference = Buffer.from(deps.randomBytes(16)).toString("hex");
  await recordStart(deps, {
    run,
    lease,
    owner: processOwner(),
    evidence: startEvidence(deps, run, requesterReference, request.issue),
    texts: {
      issue_title: request.issue.title.text,
      issue_body: request.issue.body.text,
      requester: JSON.stringify({ reference: requesterReference, ...request.requester }),
      ...forbidTexts(read.settings),
    },
  });
  deps.onEvent({ kind: "started", runId, traceId: run.traceId, repository, baseSha: base.commitSha, uncommitted });

  return openSession(deps, {
    run,
    lease,
    issue: request.issue,
    requesterReference,
    base,
    ...read,
    startedAtMs,
    approvalChannel: deps.askApproval === null ? "none" : "terminal",
    onPhase: (phase) => deps.onEvent({ kind: "phase", phase }),
  });
}

function startEvidence(deps: RunDeps, run: Run, requester: string, issue: IssueTexts) {
  return {
    phase: "prepare",
    repositoryId: run.repository.id,
    baseSha: run.baseSha,
    requester,
    policySetDigest: deps.policies.policySetDigest,
    limitsRung: deps.workspace.rung,
    issueSizeBytes: Buffer.byteLength(issue.body.text),
    hiddenRemoved: removedOf(issue),
    limits: { ...run.limits },
  };
}
