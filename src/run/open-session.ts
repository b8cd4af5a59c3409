import { createBudget } from "../agent/index.ts";
import type { Budget, Run, RunStatus } from "../domain/index.ts";
import { type ActionSettings, type RunContext, withoutGithub } from "../gateway/index.ts";
import type { RunLease } from "../ledger/index.ts";
import {
  compileRepositoryPolicies,
  loadRepositorySettings,
  type RepositoryPolicies,
  type RepositorySettings,
} from "../policy/index.ts";
import type { BaseTree } from "../workspace/index.ts";
import type { IssueTexts } from "./issue-texts.ts";
import type { RunDeps } from "./run-deps.ts";
import { reservedOutputTokens, type Session } from "./session.ts";

/** What the base commit says about how to work on it. */
export type BaseSettings = {
  readonly settings: RepositorySettings;
  readonly repositoryPolicies: RepositoryPolicies;
};

/** Settings and policies of the base commit (SEC-34). Throws `SETTINGS_INVALID`. */
export async function readSettings(deps: RunDeps, base: BaseTree): Promise<BaseSettings> {
  const files = { paths: base.entries.keys(), read: (path: string) => deps.workspace.readBaseFile(base, path) };
  const settings = await loadRepositorySettings(files, deps.operator);
  return { settings, repositoryPolicies: compileRepositoryPolicies(deps.policies, settings.forbid) };
}

/** A run that is on record and whose base is fixed. */
export type FixedRun = BaseSettings & {
  readonly run: Run;
  readonly lease: RunLease;
  readonly issue: IssueTexts;
  readonly requesterReference: string;
  readonly base: BaseTree;
  readonly startedAtMs: number;
  readonly approvalChannel: RunContext["approvalChannel"];
  readonly deliveryId?: string | null;
  readonly onPhase: Session["onPhase"];
};

/** Makes of a run on record one that can be worked on: its budget, and what the gateway is to know of it. */
export async function openSession(deps: RunDeps, fixed: FixedRun): Promise<Session> {
  const { run, lease, issue, base, settings, startedAtMs, onPhase } = fixed;
  const budget = createBudget(deps, run.limits, startedAtMs, reservedOutputTokens);
  const session: Session = {
    run,
    issue,
    lease,
    base,
    settings,
    recorded: [],
    outcomes: [],
    unrecorded: [],
    approvedEarlier: new Set(),
    waitingFor: new Set(),
    used: { turns: 0, inputTokens: 0, outputTokens: 0 },
    output: { usedBytes: 0 },
    budget,
    startedAtMs,
    onPhase,
    context: {
      ...withoutGithub,
      runId: run.runId,
      traceId: run.traceId,
      attempt: run.attempt,
      deliveryId: fixed.deliveryId ?? null,
      lease,
      requester: run.requester,
      requesterReference: fixed.requesterReference,
      repository: run.repository,
      repositoryPolicies: fixed.repositoryPolicies,
      runState: (): RunStatus => "in_progress",
      budgetLeft: () => budget.leftFor(session.used),
      settings: actionSettings(settings),
      approvalChannel: fixed.approvalChannel,
      runKey: await deps.keys.runKey(run.runId),
      onRecordedChange: (actionId, changeSet) => session.recorded.push({ actionId, changeSet }),
    },
  };
  return session;
}

export const limitsOf = ({ limits }: RepositorySettings): Budget => ({
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
