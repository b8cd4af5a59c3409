import type { BudgetLeft, RepositoryRef, Requester, Risk, RunId, RunStatus } from "../domain/index.ts";
import type { AuthorizationRequest } from "./authorization-request.ts";

/** A person's yes to a question, with the permission that GitHub told when the answer arrived. */
export type ApprovalAsked = {
  readonly person: Requester;
  /** What is answered: the question and the action that it is about. */
  readonly question: { readonly approvalId: string; readonly tool: string; readonly risk: Risk };
  readonly run: {
    readonly runId: RunId;
    readonly requester: Requester;
    readonly repository: RepositoryRef;
    readonly runState: RunStatus;
    readonly attempt: number;
    readonly budgetLeft: BudgetLeft;
  };
};

/**
 * May this person answer that question (AUD-37)? A request like any other, for `authorize`: only `allow` is a yes. The person
 * needs a `permit` for the action `approve`; a set that forbids the requester's own answer has `not-the-requester`.
 */
export function approvalRequest({ person, question, run }: ApprovalAsked): AuthorizationRequest {
  // One person, two answers from GitHub: the one asked for now is the one that counts.
  const requestedBy =
    person.id === run.requester.id ? { ...run.requester, permission: person.permission } : run.requester;
  return {
    principal: { kind: "person", person },
    requestedBy,
    tool: "approve",
    group: "publish",
    risk: "RESTRICTED", // of the answer; the action's own stands in `input`
    repository: run.repository,
    runId: run.runId,
    approved: false,
    runState: run.runState,
    attempt: run.attempt,
    budgetLeft: run.budgetLeft,
    effects: ["publish"],
    path: null,
    input: { approval_id: question.approvalId, tool: question.tool, risk: question.risk },
  };
}
