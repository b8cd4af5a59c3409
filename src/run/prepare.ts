import { createBudget } from "../agent/index.ts";
import { type Budget, newRunId, type Run, type RunStatus, type UntrustedText } from "../domain/index.ts";
import { type ActionSettings, withoutGithub } from "../gateway/index.ts";
import type { RunLease } from "../ledger/index.ts";
import { compileRepositoryPolicies, loadRepositorySettings, type RepositorySettings } from "../policy/index.ts";
import { processOwner } from "../store/index.ts";
import type { LocalRequest, RunDeps } from "./run-deps.ts";
import { keepPolicySet, recordStart } from "./run-record.ts";
import { reservedOutputTokens, type Session } from "./session.ts";

/**
 * From a request to a run that is on record: the base fixed, settings and policies read from its commit, keys made, the
 * lease taken. Throws before anything is recorded where the repository or its settings can't be used.
 */
export async function prepare(deps: RunDeps, request: LocalRequest, signal: AbortSignal): Promise<Session> {
  const startedAtMs = deps.clock();
  const { base, repository, uncommitted } = await deps.workspace.openBase(request.source, signal);
  const files = { paths: base.entries.keys(), read: (path: string) => deps.workspace.readBaseFile(base, path) };
  const settings = await loadRepositorySettings(files, deps.operator);
  const repositoryPolicies = compileRepositoryPolicies(deps.policies, settings.forbid);

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
    limits: limitsOf(settings),
  };
  const lease: RunLease = { runId, fencingToken: 1 };
  const requesterReference = Buffer.from(deps.randomBytes(16)).toString("hex");
  await keepPolicySet(deps);
  await recordStart(deps, {
    run,
    lease,
    owner: processOwner(),
    evidence: startEvidence(deps, run, requesterReference, request.issue.body),
    texts: {
      issue_title: request.issue.title.text,
      issue_body: request.issue.body.text,
      requester: JSON.stringify({ reference: requesterReference, ...request.requester }),
    },
  });
  deps.onEvent({ kind: "started", runId, traceId: run.traceId, repository, baseSha: base.commitSha, uncommitted });

  const budget = createBudget(deps, run.limits, startedAtMs, reservedOutputTokens);
  const session: Session = {
    run,
    request,
    lease,
    base,
    settings,
    recorded: [],
    outcomes: [],
    used: { turns: 0, inputTokens: 0, outputTokens: 0 },
    budget,
    startedAtMs,
    context: {
      runId,
      traceId: run.traceId,
      attempt: run.attempt,
      lease,
      requester: request.requester,
      requesterReference,
      repository,
      repositoryPolicies,
      runState: (): RunStatus => "in_progress",
      budgetLeft: () => budget.leftFor(session.used),
      settings: actionSettings(settings),
      approvalChannel: deps.askApproval === null ? "none" : "terminal",
      runKey: await deps.keys.runKey(runId),
      ...withoutGithub,
      onRecordedChange: (actionId, changeSet) => session.recorded.push({ actionId, changeSet }),
    },
  };
  return session;
}

function startEvidence(deps: RunDeps, run: Run, requester: string, body: UntrustedText) {
  return {
    repositoryId: run.repository.id,
    baseSha: run.baseSha,
    requester,
    policySetDigest: deps.policies.policySetDigest,
    issueSizeBytes: Buffer.byteLength(body.text),
    hiddenRemoved: body.removed,
    limits: { ...run.limits },
  };
}

const limitsOf = ({ limits }: RepositorySettings): Budget => ({
  turns: limits.turns,
  minutes: limits.minutes,
  inputTokens: limits.inputTokens,
  outputTokens: limits.outputTokens,
});

const actionSettings = (settings: RepositorySettings): ActionSettings => ({
  verifyCommand: settings.verify?.run ?? null,
  verifyTimeoutMs: settings.verify?.timeoutMs ?? 0,
  verifyFilter: settings.verify?.filter ?? null,
  setupCommand: settings.setup?.run ?? null,
  setupTimeoutMs: settings.setup?.timeoutMs ?? 0,
});
