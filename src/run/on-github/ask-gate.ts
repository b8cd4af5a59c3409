import type { Live } from "./end.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { standingWrites, unknownWrites, writeAsHost } from "./host-actions.ts";
import { type Closed, closed, type Gate, lastGate } from "./last-gate.ts";
import type { PreparedOnGithub } from "./prepare-on-github.ts";
import { stopText } from "./watch-stop.ts";

/**
 * The last gate before the first write of publishing that this worker makes (GH-51): also before what is left to do once an
 * earlier worker has pushed. Closed then, the branch is taken back by an action of its own, and the cause says so.
 */
export async function askGate(deps: GithubRunDeps, live: Live, base: PreparedOnGithub["base"]): Promise<Gate> {
  const { context } = live.job;
  const standing = async (tool: string) => (await standingWrites(deps, context, tool)).results;
  // All is published: what is left is to tell of it.
  if ((await standing("open_pull_request")).length > 0) return { kind: "open", behindBy: 0 };
  if ((await standing("delete_branch")).length > 0) return closed("cancelled", givenUp, again);
  const gate = await stoppedOrGate(live, base);
  const headSha = (await standing("push_commit")).at(-1)?.["commit_sha"];
  return gate.kind === "open" || typeof headSha !== "string" ? gate : takeBack(deps, live, gate, headSha);
}

const again = "ask again with `/countersign retry`";
const givenUp = "its publishing was given up before it was taken over: the branch was deleted again";

async function stoppedOrGate({ job, stop, lost }: Live, base: PreparedOnGithub["base"]): Promise<Gate> {
  const gate = await lastGate(job, base, lost);
  const wish = await stop.look();
  return wish === null ? gate : closed("cancelled", stopText(wish), again);
}

/** A branch from which a pull request may stand that was not found is left alone: a person has to look. */
async function takeBack(deps: GithubRunDeps, { job, lost }: Live, gate: Closed, headSha: string): Promise<Closed> {
  const { branch, context } = job;
  if ((await unknownWrites(deps, context)).length > 0) return { ...gate, cause: `${gate.cause}; ${stands(branch)}` };
  const args = { branch, expected_sha: headSha };
  const deleted = await writeAsHost(deps, context, { tool: "delete_branch", args }, lost);
  const what =
    deleted.kind === "done"
      ? `the branch \`${branch}\` was deleted again`
      : `${stands(branch)}, since ${deleted.reason}`;
  return { ...gate, cause: `${gate.cause}; ${what}` };
}

const stands = (branch: string): string => `the branch \`${branch}\` stands`;
