import type { JsonObject } from "../domain/index.ts";
import type { ActionDescription } from "./action-description.ts";
import { editFileAction } from "./actions/edit-file.ts";
import { readFileAction } from "./actions/read-file.ts";
import { runCommandAction } from "./actions/run-command.ts";

/** Any action, its plan and facts known to itself alone: what one of its acts gave is handed to its next act only. */
export type AnyAction = ActionDescription<JsonObject, unknown, unknown>;

/** All actions by name: the model's tools in the order they are offered, then the host's own. */
export type Catalogue = ReadonlyMap<string, AnyAction>;

const anyAction = <Arguments, Plan, Facts>(action: ActionDescription<Arguments, Plan, Facts>): AnyAction =>
  action as unknown as AnyAction;

export function createCatalogue(): Catalogue {
  const actions = [anyAction(readFileAction), anyAction(editFileAction), anyAction(runCommandAction)];
  return new Map(actions.map((action) => [action.name, action]));
}
