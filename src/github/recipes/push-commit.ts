import { CountersignError, type FileChange, type JsonObject } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import type { CommitFacts } from "../facts.ts";
import { isRefused } from "../failure.ts";
import type { WriteContext, WriteRow } from "../write-row.ts";
import type { PushCommit } from "../writes.ts";
import { isSameTree } from "./same-tree.ts";

const differs = (what: string, details: JsonObject): CountersignError =>
  new CountersignError("GITHUB_CONTENT_DIFFERS", `GitHub stored another ${what} than was sent`, { details });

/** Each blob's exact bytes; GitHub's id of it must be git's (GH-81). */
async function sendBlob({ send }: WriteContext, change: FileChange, signal: AbortSignal): Promise<void> {
  if (change.after === null) return;
  const parameters = { content: Buffer.from(change.after.content).toString("base64"), encoding: "base64" };
  const { sha } = await send({ method: "POST", route: "/git/blobs", parameters }, shapes.Blob, signal);
  if (sha !== change.after.blobSha) throw differs("blob", { expected: change.after.blobSha, got: sha });
}

/** Untouched entries come from the base; null takes one away (GH-82). */
const treeEntry = ({ path, before, after }: FileChange) => ({
  path,
  mode: after?.mode ?? before?.mode ?? "100644",
  type: "blob",
  sha: after?.blobSha ?? null,
});

/** Blobs, tree, commit: objects that nothing names yet, so that a lost answer leaves no trace (GH-83). */
async function sendCommit(context: WriteContext, write: PushCommit, signal: AbortSignal): Promise<CommitFacts> {
  const { send } = context;
  for (const change of write.changes) await sendBlob(context, change, signal);
  const tree = await send(
    {
      method: "POST",
      route: "/git/trees",
      parameters: { base_tree: write.baseTreeSha, tree: write.changes.map(treeEntry) },
    },
    shapes.Blob,
    signal,
  );
  const commit = await send(
    {
      method: "POST",
      route: "/git/commits",
      parameters: { message: write.message, tree: tree.sha, parents: [write.parentSha] },
    },
    shapes.Commit,
    signal,
  );
  if (commit.treeSha !== tree.sha || commit.parents.join() !== write.parentSha)
    throw differs("commit", { expected: tree.sha, got: commit.treeSha });
  return commit;
}

/** The point of no return (GH-84). Without force, a parent that is no longer the head refuses the move (GH-61). */
async function sendRef({ send }: WriteContext, write: PushCommit, sha: string, signal: AbortSignal): Promise<void> {
  const ref = `heads/${write.branch}`;
  const request =
    write.expectedSha === null
      ? ({ method: "POST", route: "/git/refs", parameters: { ref: `refs/${ref}`, sha } } as const)
      : ({ method: "PATCH", route: "/git/refs/{ref}", parameters: { ref, sha, force: false } } as const);
  await send(request, shapes.Ref, signal);
}

const hasTrailer = ({ message }: CommitFacts, { runId }: PushCommit): boolean =>
  message.split(/\r?\n/).includes(`Countersign-Run: ${runId}`);

/** Whether a commit is this write's: our parent, our run's trailer, our tree. `treeSha` null: the tree is compared entry by entry. */
async function isOurs(
  { read }: WriteContext,
  write: PushCommit,
  { commit, treeSha }: { readonly commit: CommitFacts; readonly treeSha: string | null },
  signal: AbortSignal,
): Promise<boolean> {
  if (commit.parents.join() !== write.parentSha || !hasTrailer(commit, write)) return false;
  if (treeSha !== null) return commit.treeSha === treeSha;
  return await isSameTree(read, { base: write.baseTreeSha, head: commit.treeSha }, write.changes, signal);
}

const resultOf = (write: PushCommit, commit: CommitFacts, isConfirmed: boolean): JsonObject => ({
  commit_sha: commit.sha,
  tree_sha: commit.treeSha,
  branch: write.branch,
  verified: commit.isVerified,
  verification_reason: commit.verificationReason,
  files: write.changes.length,
  confirmed: isConfirmed,
});

/** The ref was refused: what stands there may be ours from a sending before this one. */
async function adopt(
  context: WriteContext,
  write: PushCommit,
  { treeSha, refusal }: { readonly treeSha: string; readonly refusal: CountersignError },
  signal: AbortSignal,
): Promise<JsonObject> {
  const head = await context.reader.branch(write.branch, signal);
  if (head === null || head.sha === write.expectedSha) throw refusal;
  const commit = await context.reader.commit(head.sha, signal);
  if (await isOurs(context, write, { commit, treeSha }, signal)) return resultOf(write, commit, true);
  throw new CountersignError(
    "GITHUB_BRANCH_TAKEN",
    `the branch \`${write.branch}\` stands at another commit than ours`,
    {
      cause: refusal,
      details: { ...refusal.details, found: head.sha },
    },
  );
}

/** What is said of the commit is read from GitHub; what can't be read is called not confirmed (GH-90). */
async function readBack(context: WriteContext, write: PushCommit, commit: CommitFacts, signal: AbortSignal) {
  try {
    const head = await context.reader.branch(write.branch, signal);
    if (head?.sha !== commit.sha) return resultOf(write, commit, false);
    return resultOf(write, await context.reader.commit(commit.sha, signal), true);
  } catch {
    return resultOf(write, commit, false);
  }
}

export const pushCommit: WriteRow<PushCommit> = {
  naturalKey: ({ branch, expectedSha }) => `ref heads/${branch} from ${expectedSha ?? "absent"}`,
  precondition: "the ref stands at the expected commit, or is absent where none is expected",
  recipe:
    "read the ref: the expected state, not applied; a commit with our tree, parent and run trailer, applied; else inconclusive",
  permissions: { contents: "write" },
  send: async (context, write, signal) => {
    const commit = await sendCommit(context, write, signal);
    try {
      await sendRef(context, write, commit.sha, signal);
    } catch (error) {
      if (!isRefused(error)) throw error;
      return await adopt(context, write, { treeSha: commit.treeSha, refusal: error }, signal);
    }
    return await readBack(context, write, commit, signal);
  },
  look: async (context, write, _since, signal) => {
    const head = await context.reader.branch(write.branch, signal);
    const saw = { ref: `heads/${write.branch}`, sha: head?.sha ?? null };
    if ((head?.sha ?? null) === write.expectedSha) return { kind: "not_applied", saw };
    if (head === null) return { kind: "inconclusive", saw };
    const commit = await context.reader.commit(head.sha, signal);
    const isApplied = await isOurs(context, write, { commit, treeSha: null }, signal);
    return isApplied ? { kind: "applied", result: resultOf(write, commit, true), saw } : { kind: "inconclusive", saw };
  },
};
