import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { githubNumber, label } from "./arguments.ts";

/** Puts a label on an issue or a pull request. */
export const addLabelAction = githubAction({
  name: "add_label",
  reason: "Labels tell people and their filters in which state an issue is.",
  capabilities: [{ grants: ["change_labels"] }],
  Arguments: z.strictObject({ issue: githubNumber, label }),
  toWrite: (_context, args) => ({ tool: "add_label", ...args }),
});
