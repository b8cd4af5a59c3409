import type { JsonObject } from "../domain/index.ts";
import type { ActionContext, ActionDescription, GithubContext } from "./action-description.ts";
import { addLabelAction } from "./actions/add-label.ts";
import { addReactionAction } from "./actions/add-reaction.ts";
import { createCommentAction } from "./actions/create-comment.ts";
import { createFileAction } from "./actions/create-file.ts";
import { deleteBranchAction } from "./actions/delete-branch.ts";
import { deleteFileAction } from "./actions/delete-file.ts";
import { editFileAction } from "./actions/edit-file.ts";
import { findFilesAction } from "./actions/find-files.ts";
import { finishAction } from "./actions/finish.ts";
import { openPullRequestAction } from "./actions/open-pull-request.ts";
import { pushCommitAction } from "./actions/push-commit.ts";
import { readFileAction } from "./actions/read-file.ts";
import { removeLabelAction } from "./actions/remove-label.ts";
import { runCommandAction } from "./actions/run-command.ts";
import { runSetupAction } from "./actions/run-setup.ts";
import { runTestsAction } from "./actions/run-tests.ts";
import { runVerificationAction } from "./actions/run-verification.ts";
import { searchTextAction } from "./actions/search-text.ts";
import { setCheckRunAction } from "./actions/set-check-run.ts";
import { updateCommentAction } from "./actions/update-comment.ts";
import { updatePullRequestAction } from "./actions/update-pull-request.ts";

/** Any action, its plan and facts known to itself alone: what one of its acts gave is handed to its next act only. */
export type AnyAction = ActionDescription<JsonObject, unknown, unknown, ActionContext | GithubContext>;

/** All actions by name: the model's tools in the order they are offered, then the host's own. */
export type Catalogue = ReadonlyMap<string, AnyAction>;

const anyAction = <Arguments, Plan, Facts, Context>(
  action: ActionDescription<Arguments, Plan, Facts, Context>,
): AnyAction => action as unknown as AnyAction;

export function createCatalogue(): Catalogue {
  const actions = [
    anyAction(readFileAction),
    anyAction(searchTextAction),
    anyAction(findFilesAction),
    anyAction(editFileAction),
    anyAction(createFileAction),
    anyAction(deleteFileAction),
    anyAction(runCommandAction),
    anyAction(runTestsAction),
    anyAction(finishAction),
    anyAction(runSetupAction),
    anyAction(runVerificationAction),
    anyAction(pushCommitAction),
    anyAction(openPullRequestAction),
    anyAction(updatePullRequestAction),
    anyAction(createCommentAction),
    anyAction(updateCommentAction),
    anyAction(setCheckRunAction),
    anyAction(addLabelAction),
    anyAction(removeLabelAction),
    anyAction(deleteBranchAction),
    anyAction(addReactionAction),
  ];
  return new Map(actions.map((action) => [action.name, action]));
}
