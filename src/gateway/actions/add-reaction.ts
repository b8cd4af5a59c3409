import { z } from "zod";
import type { ReactionTarget } from "../../domain/index.ts";
import { githubAction } from "../github-action.ts";
import { githubNumber, optional } from "./arguments.ts";

const targets = ["issue", "comment", "review_comment"] as const;

const Arguments = z
  .strictObject({
    issue: optional(githubNumber),
    comment: optional(githubNumber),
    review_comment: optional(githubNumber),
    content: z.enum(["eyes", "confused", "rocket"]),
  })
  .refine((args) => targets.filter((target) => args[target] !== null).length === 1, {
    message: "exactly one of issue, comment and review_comment",
  });
type Arguments = z.infer<typeof Arguments>;

/** Answers a request at once, before any words (GH-40). */
export const addReactionAction = githubAction({
  name: "add_reaction",
  reason: "Whoever asked sees within seconds that it was heard.",
  capabilities: [{ grants: ["react"] }],
  Arguments,
  toWrite: (_context, args) => ({ tool: "add_reaction", target: targetOf(args), content: args.content }),
});

function targetOf({ issue, comment, review_comment: reviewComment }: Arguments): ReactionTarget {
  if (issue !== null) return { kind: "issue", issue };
  if (comment !== null) return { kind: "issue_comment", comment };
  if (reviewComment !== null) return { kind: "review_comment", comment: reviewComment };
  throw new Error("arguments without a target passed the schema");
}
