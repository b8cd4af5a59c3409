/**
 * The life of a run: prepare, work, verify, settle; and what is done about runs whose worker is gone.
 * Door: `runLocally` for a repository on this machine, `runForPullRequest` for one on GitHub, `workOnJobs` for what was asked for on GitHub,
 * `settleInterrupted` at each start; `pause`, `resume` and `requestStop` for the operator; the events and the report.
 * Never: no effect but through the gateway's `perform`; no verdict from anything the model says.
 */

export { type IssueTexts, unsafeIssue } from "./issue-texts.ts";
export { pause, requestStop, resume } from "./kill-switch.ts";
export { defaultLeaseTimes, type LeaseTimes } from "./lease.ts";
export { runLocally } from "./local-run.ts";
export type { GithubRunDeps, PublishingDeps } from "./on-github/github-run-deps.ts";
export { workOnJobs } from "./on-github/jobs.ts";
export { runForPullRequest } from "./on-github/run-for-pull-request.ts";
export { wakeRun } from "./on-github/wait-for-answers.ts";
export { settleInterrupted } from "./recover.ts";
export {
  type Answer,
  createReplay,
  type Replay,
  type Replayed,
  recordedAnswer,
  repositoryPoliciesOf,
} from "./replay-decisions.ts";
export type {
  AskApproval,
  LocalRequest,
  RunDeps,
  RunEvent,
  RunPhase,
  ServerPlace,
  WorkspaceHands,
} from "./run-deps.ts";
export { keepPolicySet } from "./run-record.ts";
export type { RunReport, TestRun } from "./run-report.ts";
