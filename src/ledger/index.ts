/**
 * The durable, tamper-evident log of everything that is done, and the keys of what is sealed beside it.
 * Door: `openKeys`, `openLedger` with `append`, `verifyLedger`, the questions of `audit show`, `audit find` and `runs list`;
 * `startSpanSender` for the trace, which is derived from the log and never evidence beside it.
 * Never: no entry is changed or taken away, no argument or result reaches SQL unsealed, nothing here decides.
 */
export type { AuditEvent, AuditedAction } from "./audited-action.ts";
export { type ActionFilter, type FoundAction, type FoundActions, findActions } from "./find-actions.ts";
export { type Keys, openKeys, type Sealed, type SealPlace } from "./keys.ts";
export { type Ledger, openLedger } from "./ledger.ts";
export {
  appendLeaves,
  emptyTree,
  inclusionProof,
  leafHash,
  type TreeHead,
  verifyInclusion,
} from "./merkle.ts";
export type { NewBatch, RunLease } from "./prepare-batch.ts";
export { type ProbedLog, probeLog } from "./probe-log.ts";
export { proofReader } from "./proof-reader.ts";
export {
  type AuditedRun,
  adviceOf,
  type ListedRun,
  listRuns,
  type OpenedText,
  readActionEntries,
  readActionTexts,
  readNonce,
  readRunChangeSets,
  readRunEntries,
  readRunTexts,
  showAction,
  showApproval,
  showRun,
} from "./queries.ts";
export { readForVerification } from "./read-for-verification.ts";
export {
  type RecordedDecision,
  readDecisionsOn,
  readDecisionsSince,
  readPolicySet,
} from "./recorded-decisions.ts";
export { sealCommitted } from "./seal-committed.ts";
export {
  dropTorn,
  openSpool,
  readSpools,
  removeSpool,
  type Spool,
  type SpooledOutcome,
  type SpoolReading,
  type SpoolRecord,
} from "./spool.ts";
export { isAfterEffect, spoolOutcomes } from "./spool-outcomes.ts";
export type { DerivedRow, StoredEntry, StoredLog, StoredPage, StoredText } from "./stored-log.ts";
export { spansOf } from "./trace/derive-spans.ts";
export { lostSpans, type SpanCount } from "./trace/lost-spans.ts";
export type { TraceSpan } from "./trace/span.ts";
export {
  type Flushed,
  type SpanSender,
  type SpanSenderDeps,
  type SpanSenderSettings,
  startSpanSender,
} from "./trace/span-sender.ts";
export type { Finding, FindingCode, Trust } from "./verification-walk.ts";
export { type Verification, verifyLedger } from "./verify.ts";
export { verifyStored } from "./verify-stored.ts";
