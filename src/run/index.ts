/**
 * The life of a run: prepare, work, verify, settle; and what is done about runs whose worker is gone.
 * Door: `runLocally` for a repository on this machine, `settleInterrupted` at each start; the events and the report.
 * Never: no effect but through the gateway's `perform`; no verdict from anything the model says.
 */

export { runLocally } from "./local-run.ts";
export { settleInterrupted } from "./recover.ts";
export type {
  AskApproval,
  LocalRequest,
  RunDeps,
  RunEvent,
  RunPhase,
  ServerPlace,
  WorkspaceHands,
} from "./run-deps.ts";
export type { RunReport, TestRun } from "./run-report.ts";
