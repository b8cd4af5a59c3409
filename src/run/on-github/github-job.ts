import { CountersignError, type Permission, type Run, type RunId, type Trigger } from "../../domain/index.ts";
import { createFingerprints, type RunContext, type SavedPages } from "../../gateway/index.ts";
import type { GithubReader, GithubWriter } from "../../github/index.ts";
import { type RunLease, readRunTexts } from "../../ledger/index.ts";
import { noRepositoryPolicies } from "../../policy/index.ts";
import { type IssueReading, readIssue } from "../issue-texts.ts";
import type { RunDeps } from "../run-deps.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import type { RunRow } from "./take-run.ts";

/** A run from GitHub in the hands of this worker. */
export type GithubJob = {
  readonly trigger: Trigger;
  readonly row: RunRow;
  readonly lease: RunLease;
  readonly branch: string;
  readonly requesterReference: string;
  readonly issue: IssueReading;
  readonly reader: GithubReader;
  /** For the host's own actions: what it may do does not end with the budget of the model. */
  readonly context: RunContext;
  readonly startedAtMs: number;
};

/** The last 8 hex digits of the run's id: the first ones are time, and collide (GH-86). 0: no issue on GitHub. */
export const branchOf = (issue: number, runId: string): string => `countersign/issue-${issue}-${runId.slice(-8)}`;

/** What the trigger sealed, and the hands for its repository. */
export async function openJob(deps: GithubRunDeps, row: RunRow, lease: RunLease): Promise<GithubJob> {
  const trigger = JSON.parse(await sealedText(deps, row.run_id, "trigger")) as Trigger;
  const requesterReference = await referenceOf(deps, row.run_id);
  const place = { installationId: trigger.installationId, repositoryId: trigger.repository.id };
  const branch = branchOf(trigger.item.number, row.run_id);
  const context = await hostContext(deps, {
    runId: row.run_id,
    traceId: row.trace_id,
    attempt: row.attempt,
    deliveryId: row.delivery_id,
    lease,
    requester: trigger.requester,
    requesterReference,
    repository: { id: row.repository_id, name: row.repository_name },
    writer: deps.github.writer(place),
    branch,
  });
  return {
    trigger,
    row,
    lease,
    branch,
    requesterReference,
    issue: readTrigger(trigger, deps.github.host),
    reader: deps.github.reader(place),
    context,
    startedAtMs: deps.clock(),
  };
}

/** What the gateway is to know of the host's own actions on GitHub. */
export async function hostContext(
  deps: RunDeps,
  who: Pick<
    RunContext,
    "runId" | "traceId" | "attempt" | "deliveryId" | "lease" | "requester" | "requesterReference" | "repository"
  > & { readonly writer: GithubWriter; readonly branch: string | null },
): Promise<RunContext> {
  const { writer, branch, ...known } = who;
  return {
    ...known,
    repositoryPolicies: noRepositoryPolicies,
    runState: () => "in_progress",
    budgetLeft: () => hostBudget,
    workspace: null,
    github: writer,
    runBranch: branch,
    publishing: null,
    isPathApproved: () => false,
    fingerprints: createFingerprints(),
    pages: noPages,
    settings: noCommands,
    approvalChannel: "none",
    runKey: await deps.keys.runKey(known.runId),
    onRecordedChange: () => undefined,
  };
}

const noCommands = {
  verifyCommand: null,
  verifyTimeoutMs: 0,
  verifyFilter: null,
  setupCommand: null,
  setupTimeoutMs: 0,
};

/** Title and body are the author's, who may be a stranger; what stood beside a command is the requester's. */
function readTrigger({ title, body, request, author, requester }: Trigger, host: string): IssueReading {
  const byAuthor = { authorId: String(author.id), authorCanWrite: author.canWrite };
  const byRequester = { authorId: requester.id, authorCanWrite: mayWrite.has(requester.permission) };
  return readIssue({
    title: { text: title, author: byAuthor },
    body: { text: body, author: byAuthor },
    request: request.trim() === "" ? null : { text: request, author: byRequester },
    host,
  });
}

const mayWrite: ReadonlySet<Permission> = new Set<Permission>(["admin", "maintain", "write"]);

/** Enough for the few writes that tell what became of a run: these are the host's, whatever the model has used up. */
const hostBudget = { steps: 1_000, tokens: 0, seconds: 3_600 };

/** The host's own actions on GitHub put out nothing that is too long to show. */
const noPages: SavedPages = {
  keep: () => Promise.reject(new Error("no output is kept for an action on GitHub")),
  read: () => Promise.resolve(null),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** By what the ledger knows who asked (AUD-79). */
export async function referenceOf(deps: RunDeps, runId: RunId): Promise<string> {
  return (JSON.parse(await sealedText(deps, runId, "requester")) as { readonly reference: string }).reference;
}

async function sealedText(deps: RunDeps, runId: RunId, field: string): Promise<string> {
  const text = (await readRunTexts(deps, runId, field)).at(0);
  if (text === undefined) throw new Error(`run ${runId} has no \`${field}\` on record`);
  if (text.bytes === null)
    throw new CountersignError("KEYS_UNUSABLE", `\`${field}\` of run \`${runId}\` can't be opened`);
  return new TextDecoder().decode(text.bytes);
}

/** The run as the phases know it, once the base is fixed. */
export function runOf(job: GithubJob, base: { readonly sha: string }, limits: Run["limits"]): Run {
  const { row, trigger } = job;
  return {
    runId: row.run_id,
    traceId: row.trace_id,
    repository: { id: row.repository_id, name: row.repository_name },
    requester: trigger.requester,
    issueTitle: trigger.title,
    baseSha: base.sha,
    status: "in_progress",
    conclusion: null,
    stopReason: null,
    attempt: row.attempt,
    startedAt: row.started_at,
    limits,
  };
}
