/**
 * The words: ids, actions and their states, decisions, change sets, runs, ledger entries, errors.
 * Door: types and pure functions; every other room may use them.
 * Never: no input or output, no clock, no randomness of its own, no knowledge of another room.
 */
export type {
  ActionGroup,
  ActionOutcome,
  Decision,
  DecisionEffect,
  Effect,
  PathFact,
  Principal,
  ProposedAction,
  ResultStatus,
  Risk,
  ToolCallPlace,
} from "./action.ts";
export {
  type ActionState,
  actionStates,
  type CancelCause,
  isLegalTransition,
  legalTransitions,
  statesAtRest,
} from "./action-state.ts";
export { assertNever } from "./assert-never.ts";
export { type Budget, type BudgetLeft, defaultBudget } from "./budget.ts";
export {
  type Attribution,
  attribute,
  type ChangeSet,
  emptyChangeSet,
  type FileChange,
  type FileMode,
  splitByAuthority,
  type TreeEntry,
} from "./change-set.ts";
export {
  answeredCodes,
  type DeliveryAnswer,
  type DeliveryCode,
  type DeliveryResult,
  ignoredCodes,
  refusedCodes,
  type StopCause,
} from "./delivery.ts";
export {
  argumentsCommitment,
  argumentsDigest,
  deriveRunKey,
  fieldCommitment,
  nonceSizeBytes,
  rawArgumentsDigest,
  rawCommitment,
  resultCommitment,
} from "./digests.ts";
export { editDistance } from "./edit-distance.ts";
export { CountersignError, type ErrorCode, errorCatalogue, isCountersignError } from "./errors.ts";
export type { ExecResult, ReachedLimit } from "./exec-result.ts";
export { isFullDisk } from "./full-disk.ts";
export {
  type HiddenCounts,
  type HiddenKind,
  readShown,
  showHidden,
  stripHidden,
  visibleJson,
} from "./hidden-text.ts";
export { endsInNumber, isHostName } from "./host-name.ts";
export {
  type ActionId,
  type ApprovalId,
  type Clock,
  type DecisionId,
  type DeliveryId,
  type EntryId,
  type IdSource,
  newActionId,
  newApprovalId,
  newDecisionId,
  newEntryId,
  newRunId,
  parseActionId,
  parseDeliveryId,
  parseRunId,
  parseTraceId,
  type RandomBytes,
  type RunId,
  type TraceId,
} from "./ids.ts";
export {
  type JsonObject,
  type JsonParsed,
  type JsonTextRefusal,
  type JsonTextRefusalCode,
  type JsonValue,
  type JsonValueRefusal,
  type JsonValueRefusalCode,
  jsonDepthLimit,
  jsonSizeLimitBytes,
} from "./json.ts";
export { parseStrictJson } from "./json-text.ts";
export { canonicalBytes, checkPlainValue } from "./json-value.ts";
export { late } from "./late.ts";
export {
  type Actor,
  type Checkpoint,
  type EntryType,
  type LedgerEntry,
  type NewEntry,
  plainEntry,
  type SealedField,
} from "./ledger-entry.ts";
export { isPlaceholder } from "./literal-value.ts";
export { mapTexts } from "./map-texts.ts";
export { cutRedacted, type Redact, type Redacted, redactTexts } from "./redacted.ts";
export {
  createRedactor,
  liveSecretRule,
  type RedactingStream,
  type Redactor,
  redactedMark,
  type SecretFinding,
} from "./redactor.ts";
export { type Refusal, type RefusalCode, refusalCodes } from "./refusal.ts";
export {
  type Conclusion,
  conclusionOf,
  type Permission,
  type RepositoryRef,
  type Requester,
  type Run,
  type RunStatus,
  type StopReason,
} from "./run.ts";
export { Secret } from "./secret.ts";
export { leastSecretLength } from "./secret-forms.ts";
export { isSecretName } from "./secret-names.ts";
export { hasSecretShape } from "./secret-shapes.ts";
export type { ReactionTarget, Trigger, TriggerVerb } from "./trigger.ts";
export { visibleText } from "./visible-text.ts";
