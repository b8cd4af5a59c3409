import type { JsonObject, ReactionTarget } from "../../domain/index.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { standingWrites, writeAsHost } from "./host-actions.ts";

/** The reaction that says that a run was seen (GH-40), unless the record shows that it stands. Reviews take none. */
export async function reactOnce(deps: GithubRunDeps, job: GithubJob, signal: AbortSignal): Promise<void> {
  const { reactTo } = job.trigger;
  if (reactTo === null) return;
  const { results } = await standingWrites(deps, job.context, "add_reaction");
  if (results.length > 0) return;
  const args = { ...targetArguments(reactTo), content: "eyes" };
  await writeAsHost(deps, job.context, { tool: "add_reaction", args }, signal);
}

function targetArguments(target: ReactionTarget): JsonObject {
  switch (target.kind) {
    case "issue":
      return { issue: target.issue };
    case "issue_comment":
      return { comment: target.comment };
    case "review_comment":
      return { review_comment: target.comment };
  }
}
