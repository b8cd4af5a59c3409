import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { githubNumber, optional, publishedText, publishedTitle, revision } from "./arguments.ts";

/** Changes text or draft state of a pull request of ours; what is null stays as it is (GH-104). */
export const updatePullRequestAction = githubAction({
  name: "update_pull_request",
  reason: "A pull request must say what is true of its newest commit, and becomes ready once its tests pass.",
  capabilities: [{ needs: ["open_pull_request"], grants: ["change_pull_request", "publish_text"] }],
  Arguments: z.strictObject({
    pull_request: githubNumber,
    title: optional(publishedTitle),
    body: optional(publishedText),
    draft: optional(z.boolean()),
    revision,
  }),
  toWrite: ({ actionId }, args) => ({
    tool: "update_pull_request",
    actionId,
    pullRequest: args.pull_request,
    revision: args.revision,
    ...(args.title === null ? {} : { title: args.title }),
    ...(args.body === null ? {} : { body: args.body }),
    ...(args.draft === null ? {} : { draft: args.draft }),
  }),
});
