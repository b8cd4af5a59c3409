import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { branch, objectId } from "./arguments.ts";

/** Deletes the run's own branch, if it still stands where it was left (GH-86). */
export const deleteBranchAction = githubAction({
  name: "delete_branch",
  reason: "A branch that came to nothing is not left to the people of the repository.",
  capabilities: [{ grants: ["delete_branch"] }],
  Arguments: z.strictObject({ branch, expected_sha: objectId }),
  toWrite: (_context, args) => ({ tool: "delete_branch", branch: args.branch, expectedSha: args.expected_sha }),
});
