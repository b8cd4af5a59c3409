import { type Conclusion, isCountersignError } from "../../domain/index.ts";
import type { GithubJob } from "./github-job.ts";
import { triggerLabel } from "./github-run-deps.ts";

/** Whether publishing may begin, asked of GitHub directly before its first write (GH-51). */
export type Gate =
  | { readonly kind: "open" /** Commits that the base branch has meanwhile (GH-87). */; readonly behindBy: number }
  | Closed;

/** Why nothing is published: how the run then ends, and what a person can do. */
export type Closed = {
  readonly kind: "closed";
  readonly conclusion: Conclusion;
  readonly cause: string;
  readonly remedy: string;
};

export const closed = (conclusion: Conclusion, cause: string, remedy: string): Closed => ({
  kind: "closed",
  conclusion,
  cause,
  remedy,
});

const again = "ask again with `/countersign retry` once that is mended";

type Base = { readonly branch: string; readonly sha: string };
type Place = Pick<GithubJob, "reader">;

/** Asks anew all that was asked at the trigger. */
export const lastGate = (job: GithubJob, base: Base, signal: AbortSignal): Promise<Gate> =>
  orClosed(
    async () =>
      (await repositoryClosed(job, signal)) ??
      (await issueClosed(job, signal)) ??
      (await requesterClosed(job, signal)) ??
      (await baseGate(job, base, signal)),
  );

/** For a run that nobody asked for on GitHub: repository and base alone. */
export const placeGate = (place: Place, base: Base, signal: AbortSignal): Promise<Gate> =>
  orClosed(async () => (await repositoryClosed(place, signal)) ?? (await baseGate(place, base, signal)));

/** A look-up that fails is a no (SEC-32). */
async function orClosed(ask: () => Promise<Gate>): Promise<Gate> {
  try {
    return await ask();
  } catch (error) {
    if (!isCountersignError(error)) throw error;
    return closed(isGone(error.code) ? "cancelled" : "failure", `before publishing: ${error.message}`, error.remedy);
  }
}

const isGone = (code: string): boolean => code === "GITHUB_NOT_FOUND" || code === "GITHUB_GONE";

async function repositoryClosed({ reader }: Place, signal: AbortSignal): Promise<Closed | null> {
  const { isArchived, isDisabled } = await reader.repository(signal); // by id: another repository is an error
  if (isArchived) return closed("action_required", "the repository was archived meanwhile", again);
  return isDisabled ? closed("action_required", "the repository was disabled meanwhile", again) : null;
}

async function issueClosed({ reader, trigger }: GithubJob, signal: AbortSignal): Promise<Closed | null> {
  const issue = await reader.issue(trigger.item.number, signal);
  if (!issue.isOpen) return closed("cancelled", "the issue was closed meanwhile", "open it again and ask again");
  if (trigger.byLabel && !issue.labels.includes(triggerLabel)) {
    return closed("cancelled", "the label was removed meanwhile", "put it on again to begin anew");
  }
  return null;
}

async function requesterClosed({ reader, trigger }: GithubJob, signal: AbortSignal): Promise<Closed | null> {
  const { login, id } = trigger.requester;
  const { permission, userId } = await reader.permission(login, signal);
  const mayWrite = permission === "admin" || permission === "maintain" || permission === "write";
  if (mayWrite && String(userId) === id) return null;
  return closed(
    "action_required",
    "who asked for the run may no longer write to the repository",
    "let someone who may write ask again",
  );
}

async function baseGate({ reader }: Place, base: Base, signal: AbortSignal): Promise<Gate> {
  const head = await reader.branch(base.branch, signal);
  if (head === null) return closed("action_required", "the base branch is gone", again);
  if (head.sha === base.sha) return { kind: "open", behindBy: 0 };
  const { status, aheadBy } = await reader.compare(base.sha, head.sha, signal);
  if (status === "ahead" || status === "identical") return { kind: "open", behindBy: aheadBy };
  return closed("action_required", "the base branch was rewritten while the run worked on it", again);
}
