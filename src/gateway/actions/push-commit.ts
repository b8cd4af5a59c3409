import { createHash } from "node:crypto";
import { z } from "zod";
import type { ChangeSet, Effect, FileChange, JsonObject, PathFact } from "../../domain/index.ts";
import type { GithubContext, Prepared } from "../action-description.ts";
import { githubAction } from "../github-action.ts";
import { notExecuted } from "../refusals.ts";
import { branch, objectId, path, publishedText } from "./arguments.ts";

const name = "push_commit";

/** Each path is a request to the policy of its own, and all of them are sealed together: more would not fit the log. */
const maxChanges = 1_000;

/** `mode` and `blob_sha` null: the path is deleted. */
const Change = z
  .strictObject({
    path,
    mode: z.enum(["100644", "100755", "120000"]).nullable(),
    blob_sha: objectId.nullable(),
  })
  .refine(({ mode, blob_sha: blobSha }) => (mode === null) === (blobSha === null), {
    message: "mode and blob_sha, or null for both",
  });
type Change = z.infer<typeof Change>;

const Arguments = z.strictObject({
  branch,
  /** Where the branch must stand; null: it must not exist. */
  expected_sha: objectId.nullable(),
  parent_sha: objectId,
  base_tree_sha: objectId,
  message: publishedText.min(1),
  changes: z.array(Change).min(1).max(maxChanges),
});
type Arguments = z.infer<typeof Arguments>;

/**
 * Publishes a change set as one commit on the run's own branch (GH-80). The bytes are no arguments: they come with the run,
 * and are held against the blob ids that the decision saw.
 */
export const pushCommitAction = githubAction({
  name,
  reason: "The host publishes what authorized actions produced; every path is decided again, whatever wrote it.",
  capabilities: [
    { needs: ["write_code"], grants: ["publish_branch", "run_in_ci"] },
    { needs: ["write_protected"], grants: ["publish_protected"], path: "protected" },
  ],
  Arguments,
  pathEffects: ({ changes }) => changes.map(effectOf),
  policyInput,
  prepare,
  toWrite: ({ runId, changeSet }, args) => ({
    tool: name,
    branch: args.branch,
    parentSha: args.parent_sha,
    baseTreeSha: args.base_tree_sha,
    expectedSha: args.expected_sha,
    message: args.message,
    runId,
    changes: changeSet?.changes ?? args.changes.map(withoutBytes),
  }),
});

const effectOf = ({ path: changed, mode }: Change): Effect => ({
  kind: mode === null ? "delete_path" : "write_path",
  path: changed,
  symlink: mode === "120000",
});

/** A path is asked about with what becomes of it there; the other paths and the message are no part of its request. */
function policyInput(args: Arguments, place: PathFact | null): JsonObject {
  const { changes, message, ...commit } = args;
  if (place === null) return { ...commit, message };
  const change = changes.find(({ path: changed }) => changed === place.requested);
  return { branch: commit.branch, mode: change?.mode ?? null, blob_sha: change?.blob_sha ?? null };
}

function prepare({ changeSet }: GithubContext, args: Arguments): Prepared<null> {
  if (changeSet === null) throw new Error("push_commit was proposed for a run with nothing to publish");
  if (isNamed(changeSet, args)) {
    const holds = { name: "bytes_equal_blob_ids", holds: true, evidence: { changes: args.changes.length } } as const;
    return { kind: "ready", plan: null, preconditions: [holds], intent: {} };
  }
  const call = { tool: name, arguments: {} };
  return { kind: "refused", refusal: notExecuted(call, "the change set is not the one that the arguments name") };
}

/** Path by path the same, and each content is what its blob id says (GH-81). */
const isNamed = ({ changes }: ChangeSet, args: Arguments): boolean =>
  changes.length === args.changes.length &&
  args.changes.every(({ path: named, mode, blob_sha: blobSha }, at) => {
    const change = changes[at];
    if (change?.path !== named) return false;
    const { after } = change;
    if (after === null) return mode === null;
    return after.mode === mode && after.blobSha === blobSha && blobIdOf(after.content, blobSha) === blobSha;
  });

/** Git's id of a blob, by the hash that the id it is compared with is long for. */
function blobIdOf(content: Uint8Array, like: string): string {
  const algorithm = like.length === 64 ? "sha256" : "sha1";
  return createHash(algorithm).update(`blob ${content.byteLength}\0`).update(content).digest("hex");
}

/** Enough to look for the commit by what it must hold. */
const withoutBytes = ({ path: changed, mode, blob_sha: blobSha }: Change): FileChange => ({
  path: changed,
  before: null,
  after: mode === null || blobSha === null ? null : { mode, blobSha, content: new Uint8Array() },
});
