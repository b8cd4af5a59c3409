/**
 * The only way from a proposed action to a side effect: parse, authorize, validate, execute, record.
 * Door: `perform`, `answerApproval`, the catalogue of actions and what they remember of a run.
 * Never: an effect without a decision and a durable intent before it, or an outcome that is not recorded. Nothing here
 * trusts a word of the model: arguments are data, and permissions come from the policy alone.
 */

export type { ActionSettings } from "./action-description.ts";
export { answerApproval } from "./answer-approval.ts";
export { readButton, toButtons } from "./approval-buttons.ts";
export { type Catalogue, createCatalogue } from "./catalogue.ts";
export { type GateAnswer, type PassedChangeSet, passCommitGate } from "./commit-gate.ts";
export { createFingerprints, type Fingerprints } from "./fingerprints.ts";
export type { GatewayDeps } from "./gateway-deps.ts";
export type { ApprovalAnswer, PendingApproval } from "./pending-approval.ts";
export { perform } from "./perform.ts";
export {
  type AnswerDeps,
  type OpenQuestion,
  type PersonsAnswer,
  recordExpiry,
  recordPersonsAnswer,
} from "./persons-answer.ts";
export { type RecoveryDeps, reconcileOpen } from "./reconcile-open.ts";
export { type GatedFile, refusalsOfFile, refusalsOfLockfile } from "./refused-files.ts";
export { type PersonsFinding, resolveByPerson } from "./resolve-by-person.ts";
export { type RunContext, withoutGithub } from "./run-context.ts";
export { createSavedPages, type SavedPages } from "./saved-pages.ts";
export { openSealedChangeSet, sealedChangeSet } from "./sealed-change-set.ts";
export { readStoredQuestion, type StoredQuestion } from "./stored-question.ts";
export { isYesUnchanged, takeUp } from "./take-up.ts";
export { modelTools, toolSchemas } from "./tool-schemas.ts";
export { unrecordedOutcome } from "./unrecorded.ts";
