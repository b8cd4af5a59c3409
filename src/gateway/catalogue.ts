import type { JsonObject } from "../domain/index.ts";
import type { ActionDescription } from "./action-description.ts";
import { createFileAction } from "./actions/create-file.ts";
import { deleteFileAction } from "./actions/delete-file.ts";
import { editFileAction } from "./actions/edit-file.ts";
import { findFilesAction } from "./actions/find-files.ts";
import { finishAction } from "./actions/finish.ts";
import { readFileAction } from "./actions/read-file.ts";
import { runCommandAction } from "./actions/run-command.ts";
import { runTestsAction } from "./actions/run-tests.ts";
import { runVerificationAction } from "./actions/run-verification.ts";
import { searchTextAction } from "./actions/search-text.ts";

/** Any action, its plan and facts known to itself alone: what one of its acts gave is handed to its next act only. */
export type AnyAction = ActionDescription<JsonObject, unknown, unknown>;

/** All actions by name: the model's tools in the order they are offered, then the host's own. */
export type Catalogue = ReadonlyMap<string, AnyAction>;

const anyAction = <Arguments, Plan, Facts>(action: ActionDescription<Arguments, Plan, Facts>): AnyAction =>
  action as unknown as AnyAction;

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
    anyAction(runVerificationAction),
  ];
  return new Map(actions.map((action) => [action.name, action]));
}
