import { createHash } from "node:crypto";
import type { FileChange, FileMode, RunId } from "../../src/domain/index.ts";
import { newActionId, newRunId } from "../../src/domain/index.ts";
import { markerOf, type PushCommit } from "../../src/github/index.ts";
import { botUserId, markerKey, place } from "../support/github-mock.ts";

const ids = { clock: () => Date.parse("2026-03-01T10:00:00Z"), randomBytes: (count: number) => new Uint8Array(count) };
export const actionId = newActionId(ids);
export const runId: RunId = newRunId(ids);

export const sha = (digit: string): string => digit.repeat(40);
/** Git's id of a blob. */
export const blobSha = (content: Uint8Array): string =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");

export function fileChange(path: string, content: Uint8Array | null, mode: FileMode = "100644"): FileChange {
  const before = { mode, blobSha: sha("9"), sizeBytes: 1 } as const;
  return { path, before, after: content === null ? null : { mode, blobSha: blobSha(content), content } };
}

export const bytes = Uint8Array.from([0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x80]);
export const push: PushCommit = {
  tool: "push_commit",
  branch: "countersign/issue-1-0a1b2c3d",
  parentSha: sha("b"),
  baseTreeSha: sha("c"),
  expectedSha: null,
  message: `Fix it\n\nCountersign-Run: ${runId}\nCountersign-Trace: ${"ab".repeat(16)}`,
  runId,
  changes: [
    fileChange("a.bin", bytes),
    fileChange("run.sh", Buffer.from("#!/bin/sh\n"), "100755"),
    fileChange("old.txt", null),
  ],
};
export const refPath = `/git/ref/${encodeURIComponent(`heads/${push.branch}`)}`;

export const marker = (id: string, revision: number | null = null): string =>
  markerOf(markerKey, place.repositoryId, { id, revision });

export const commit = (more: object = {}) => ({
  sha: sha("e"),
  tree: { sha: sha("d") },
  parents: [{ sha: push.parentSha }],
  message: push.message,
  verification: { verified: true, reason: "valid" },
  ...more,
});
export const ref = (to: string) => ({ ref: `refs/heads/${push.branch}`, object: { sha: to, type: "commit" } });

export const comment = (body: string, more: object = {}) => ({
  id: 501,
  user: { id: botUserId, login: "countersign-test[bot]", type: "Bot" },
  body,
  created_at: "2026-03-01T10:00:01Z",
  updated_at: "2026-03-01T10:00:01Z",
  html_url: "https://github.example.test/octo/repo/issues/1#issuecomment-501",
  ...more,
});

export const pullRequest = (body: string, more: object = {}) => ({
  id: 900,
  node_id: "PR_1",
  number: 12,
  state: "open",
  draft: false,
  title: "Fix it",
  body,
  user: { id: botUserId, login: "countersign-test[bot]" },
  head: { ref: push.branch, sha: sha("e"), repo: { id: place.repositoryId } },
  base: { ref: "main", sha: sha("b") },
  html_url: "https://github.example.test/octo/repo/pull/12",
  changed_files: 3,
  ...more,
});

export const repository = {
  id: place.repositoryId,
  name: "repo",
  full_name: "octo/repo",
  owner: { login: "octo" },
  default_branch: "main",
  archived: false,
  disabled: false,
  fork: false,
  size: 1,
};
