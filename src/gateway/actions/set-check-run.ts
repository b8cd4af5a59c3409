import { z } from "zod";
import { githubAction } from "../github-action.ts";
import { objectId, optional, publishedText, publishedTitle, revision } from "./arguments.ts";

const conclusions = ["success", "failure", "cancelled", "timed_out", "action_required", "neutral"] as const;

/** Makes or updates the run's one check on a commit of ours (GH-43). */
export const setCheckRunAction = githubAction({
  name: "set_check_run",
  reason: "The verdict stands at the commit it is about, where branch rules and people look for it.",
  capabilities: [{ grants: ["report_check", "publish_text"] }],
  Arguments: z.strictObject({
    head_sha: objectId,
    status: z.enum(["in_progress", "completed"]),
    conclusion: optional(z.enum(conclusions)),
    title: publishedTitle,
    summary: publishedText,
    revision,
  }),
  toWrite: ({ runId }, { head_sha: headSha, ...args }) => ({ tool: "set_check_run", runId, headSha, ...args }),
});
