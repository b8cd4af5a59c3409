import { randomBytes } from "node:crypto";
import {
  type ActionOutcome,
  type Decision,
  newActionId,
  newDecisionId,
  newRunId,
  type TraceId,
} from "../../src/domain/index.ts";
import type { RunReport } from "../../src/run/index.ts";

const ids = { clock: () => Date.UTC(2026, 0, 1), randomBytes };

export const aDecision = (change: Partial<Decision> = {}): Decision => ({
  decisionId: newDecisionId(ids),
  effect: "allow",
  policyIds: ["reads"],
  advice: {},
  errors: [],
  requests: [],
  policySetDigest: "",
  schemaDigest: "",
  entitiesDigest: "",
  repositoryPolicyDigest: "",
  engineVersion: "",
  floorVersion: "",
  durationUs: 1,
  ...change,
});

export const anOutcome = (change: Partial<ActionOutcome> = {}): ActionOutcome => ({
  actionId: newActionId(ids),
  tool: "read_file",
  state: "succeeded",
  status: "ok",
  text: "",
  record: {},
  refusal: null,
  decision: aDecision(),
  approvalId: null,
  changeSet: null,
  argumentsDigest: `hmac-sha256:${"0".repeat(64)}`,
  durationMs: 12,
  ...change,
});

export const aReport = (change: Partial<RunReport> = {}): RunReport => ({
  runId: newRunId(ids),
  traceId: "01".repeat(16) as TraceId,
  conclusion: "success",
  stopReason: "finished",
  cause: "the tests pass",
  title: "",
  summary: "",
  pullRequest: null,
  patch: "",
  patchKept: null,
  diffStat: { files: 0, added: 0, removed: 0 },
  tests: { command: "npm test", derived: false, before: null, after: null },
  actions: [],
  leftOut: [],
  withheld: [],
  ledger: { origin: "countersign/test", size: 7, rootHash: "AAAA", verified: true },
  tokens: { input: 1, output: 2 },
  durationMs: 1500,
  ...change,
});
