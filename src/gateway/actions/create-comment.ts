import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { githubNumber, publishedText } from "./arguments.ts";

/** Comments on an issue or a pull request. */
export const createCommentAction = githubAction({
  name: "create_comment",
  reason: "Whoever asked must see what became of it, where they asked.",
  capabilities: [{ grants: ["publish_text"] }],
  Arguments: z.strictObject({ issue: githubNumber, body: publishedText.min(1) }),
  toWrite: ({ actionId }, { issue, body }) => ({ tool: "create_comment", actionId, issue, body }),
});
