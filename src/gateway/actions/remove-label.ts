import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { githubNumber, label } from "./arguments.ts";

/** Takes a label off an issue or a pull request. */
export const removeLabelAction = githubAction({
  name: "remove_label",
  reason: "A label that asked for the work is taken off once it is answered.",
  capabilities: [{ grants: ["change_labels"] }],
  Arguments: z.strictObject({ issue: githubNumber, label }),
  toWrite: (_context, args) => ({ tool: "remove_label", ...args }),
});
