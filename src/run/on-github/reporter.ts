import { type JsonObject, redactTexts } from "../../domain/index.ts";
import type { RunPhase } from "../run-deps.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { reconcileTool, standingWrites, writeAsHost } from "./host-actions.ts";
import { reactOnce } from "./react-once.ts";
import { type StatusEnd, type StatusFacts, statusText } from "./status-text.ts";
import { outageCount } from "./take-run.ts";

/**
 * What the people of the repository see of a run: a reaction, and one comment that is kept true (GH-40 to GH-46). Nothing here
 * decides how the run ends: what GitHub refuses is on record, and the next surface is used.
 */
export type Reporter = {
  /** The reaction and the comment; what follows does not wait for them. */
  readonly begin: () => void;
  /** The comment is brought to this as soon as the edit before is through; what was meanwhile is left out. */
  readonly show: (facts: Partial<Pick<StatusFacts, "base" | "limits" | "used" | "phase" | "waitingFor">>) => void;
  /** Until the writes so far are through. Throws where one of them could not be recorded. */
  readonly settled: () => Promise<void>;
  /** The last edit; a comment that a person deleted is made once anew. */
  readonly end: (end: StatusEnd, used: StatusFacts["used"]) => Promise<void>;
};

type Comment = {
  /** Null while there is none. */
  id: number | null;
  /** The one that a person deleted. */
  deletedId: number | null;
  text: string;
  revision: number;
  /** The last write did not come through: between phases it is not tried again. */
  isRefused: boolean;
};

export async function openReporter(deps: GithubRunDeps, job: GithubJob): Promise<Reporter> {
  const textOf = (told: StatusFacts): string => statusText(redactTexts(deps.redactor.redact, told));
  const never = new AbortController().signal; // each write has a deadline of its own
  const comment = await knownComment(deps, job);
  let facts = firstFacts(deps, job, await outageCount(deps, job.row.run_id));
  let trouble: unknown;
  let chain: Promise<void> = Promise.resolve();
  let isWaiting = false;
  const enqueue = (write: () => Promise<void>): void => {
    chain = chain.then(write).catch((error: unknown) => {
      trouble ??= error;
    });
  };
  const refresh = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    enqueue(async () => {
      isWaiting = false;
      if (!comment.isRefused) await bring(deps, job, comment, { text: textOf(facts), isLast: false, signal: never });
    });
  };
  const settled = async (): Promise<void> => {
    await chain;
    if (trouble !== undefined) throw trouble;
  };
  return {
    begin: () => {
      enqueue(() => reactOnce(deps, job, never));
      refresh();
    },
    show: (news) => {
      facts = { ...facts, ...news };
      refresh();
    },
    settled,
    end: async (end, used) => {
      facts = { ...facts, used, end };
      await settled();
      comment.isRefused = false;
      await bring(deps, job, comment, { text: textOf(facts), isLast: true, signal: never });
    },
  };
}

function firstFacts(deps: GithubRunDeps, { trigger, row }: GithubJob, outages: number): StatusFacts {
  const phase: RunPhase = "prepare";
  return {
    runId: row.run_id,
    traceId: row.trace_id,
    verb: trigger.verb,
    requestedBy: trigger.requester.login,
    byLabel: trigger.byLabel,
    attempt: row.attempt,
    outageCount: outages,
    base: null,
    phase,
    waitingFor: [],
    used: { turns: 0, inputTokens: 0, outputTokens: 0 },
    limits: null,
    publicUrl: deps.publicUrl,
    end: null,
  };
}

/** The comment of an earlier worker of this run, by the record: never a second one (GH-41). */
async function knownComment(deps: GithubRunDeps, { context }: GithubJob): Promise<Comment> {
  const edits = await standingWrites(deps, context, "update_comment");
  const id = await standingComment(deps, context);
  return { id, deletedId: null, text: "", revision: edits.proposedCount, isRefused: false };
}

const standingComment = async (deps: GithubRunDeps, context: GithubJob["context"]): Promise<number | null> =>
  idOf((await standingWrites(deps, context, "create_comment")).results.at(-1));

const idOf = (result: JsonObject | undefined): number | null => {
  const id = result?.["comment_id"];
  return typeof id === "number" ? id : null;
};

type Bringing = { readonly text: string; readonly isLast: boolean; readonly signal: AbortSignal };

/** Makes the comment, or edits it to the text. */
async function bring(deps: GithubRunDeps, job: GithubJob, comment: Comment, bringing: Bringing): Promise<void> {
  if (bringing.text === comment.text) return;
  if (comment.id === null && !(await adopt(deps, job, comment, bringing.signal))) return;
  if (comment.id !== null && !(await edit(deps, job, comment, { ...bringing, id: comment.id }))) return;
  await make(deps, job, comment, bringing);
}

/**
 * One that was made although its answer was lost becomes the comment. Answers whether another may be made where there is none:
 * not while it can't be told (GH-46).
 */
async function adopt(deps: GithubRunDeps, job: GithubJob, comment: Comment, signal: AbortSignal): Promise<boolean> {
  const reconciled = await reconcileTool(deps, job.context, "create_comment", signal);
  const id = await standingComment(deps, job.context);
  if (id !== comment.deletedId) comment.id = id;
  comment.isRefused = comment.id === null && reconciled === "unknown";
  return !comment.isRefused;
}

/** Answers whether a new one is to be made in the place of one that a person deleted. */
async function edit(
  deps: GithubRunDeps,
  job: GithubJob,
  comment: Comment,
  { id, text, isLast, signal }: Bringing & { readonly id: number },
): Promise<boolean> {
  comment.revision += 1;
  const args = { issue: job.trigger.item.number, comment: id, body: text, revision: comment.revision };
  const edited = await writeAsHost(deps, job.context, { tool: "update_comment", args }, signal);
  comment.isRefused = edited.kind !== "done";
  if (edited.kind === "done") {
    comment.text = text;
    return false;
  }
  if (!isGone(edited.code) || !isLast || !(await wasDeleted(job, id, signal))) return false;
  comment.id = null;
  comment.deletedId = id;
  return true;
}

async function make(deps: GithubRunDeps, job: GithubJob, comment: Comment, { text, signal }: Bringing): Promise<void> {
  const args = { issue: job.trigger.item.number, body: text };
  const made = await writeAsHost(deps, job.context, { tool: "create_comment", args }, signal);
  comment.isRefused = made.kind !== "done";
  if (made.kind !== "done") return;
  comment.id = idOf(made.result);
  comment.text = text;
  comment.revision = 0;
  await rememberComment(deps, job, comment.id);
}

/** Looked for where people would see it: what GitHub says of an edit alone must not make a second comment. */
async function wasDeleted({ reader, trigger }: GithubJob, id: number, signal: AbortSignal): Promise<boolean> {
  const listed = await reader.comments(trigger.item.number, null, signal).catch(() => null);
  return listed?.isComplete === true && !listed.items.some((comment) => comment.id === id);
}

const isGone = (code: string): boolean => code === "GITHUB_NOT_FOUND" || code === "GITHUB_GONE";

async function rememberComment(deps: GithubRunDeps, { row, lease }: GithubJob, id: number | null): Promise<void> {
  await deps.store.db
    .updateTable("runs")
    .set({ status_comment_id: id })
    .where("run_id", "=", row.run_id)
    .where("fencing_token", "=", lease.fencingToken)
    .execute();
}
