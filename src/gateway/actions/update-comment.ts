import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { githubNumber, publishedText, revision } from "./arguments.ts";

/** Rewrites a comment of ours; `revision` counts its edits from 1. */
export const updateCommentAction = githubAction({
  name: "update_comment",
  reason: "One comment that is kept true is read; many are not.",
  capabilities: [{ grants: ["publish_text"] }],
  Arguments: z.strictObject({ issue: githubNumber, comment: githubNumber, body: publishedText.min(1), revision }),
  toWrite: ({ actionId }, args) => ({ tool: "update_comment", actionId, ...args }),
});
