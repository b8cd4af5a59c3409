import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { branch, publishedText, publishedTitle } from "./arguments.ts";

/** Proposes the run's branch to the people of the repository (GH-100). */
export const openPullRequestAction = githubAction({
  name: "open_pull_request",
  reason: "A pull request is how people look at a change before it is theirs; merging stays with them.",
  capabilities: [{ needs: ["publish_branch"], grants: ["open_pull_request", "publish_text"] }],
  Arguments: z.strictObject({ branch, base: branch, title: publishedTitle, body: publishedText, draft: z.boolean() }),
  toWrite: ({ actionId }, args) => ({ tool: "open_pull_request", actionId, ...args }),
});
