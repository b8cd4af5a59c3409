import type { JsonObject } from "../../domain/index.ts";
import type { ParsedCommit } from "./commit-object.ts";
import type { FileDiff, Ref, TreeRow } from "./git-store.ts";
import { accountView, nodeId, pageUrl, repositoryUrl } from "./views.ts";
import type { Account, Repository, World } from "./world.ts";

export const refView = (world: World, repository: Repository, ref: Ref): JsonObject => {
  const base = `${repositoryUrl(world, repository)}/git`;
  return {
    ref: ref.name,
    node_id: nodeId("REF", `${repository.id}:${ref.name}`),
    url: `${base}/${encodeURI(ref.name)}`,
    object: { sha: ref.sha, type: ref.type, url: `${base}/${ref.type}s/${ref.sha}` },
  };
};

export function treeView(world: World, repository: Repository, sha: string, rows: readonly TreeRow[]): JsonObject {
  const base = `${repositoryUrl(world, repository)}/git`;
  return {
    sha,
    url: `${base}/trees/${sha}`,
    tree: rows.map((row) => ({
      path: row.path,
      mode: row.mode,
      type: row.type,
      sha: row.sha,
      ...(row.size === null ? {} : { size: row.size }),
      ...(row.type === "commit" ? {} : { url: `${base}/${row.type}s/${row.sha}` }),
    })),
    truncated: false,
  };
}

const verificationView = (commit: ParsedCommit): JsonObject => ({
  verified: commit.signature !== null,
  reason: commit.signature === null ? "unsigned" : "valid",
  signature: commit.signature,
  payload: commit.signature === null ? null : commit.payload,
  verified_at: commit.signature === null ? null : commit.committer.date,
});

const parentsView = (world: World, repository: Repository, commit: ParsedCommit, under: string): JsonObject[] =>
  commit.parents.map((parent) => ({
    sha: parent,
    url: `${repositoryUrl(world, repository)}/${under}/${parent}`,
    html_url: `${pageUrl(world, repository)}/commit/${parent}`,
  }));

const insideView = (world: World, repository: Repository, commit: ParsedCommit): JsonObject => ({
  author: { ...commit.author },
  committer: { ...commit.committer },
  message: commit.message,
  tree: { sha: commit.tree, url: `${repositoryUrl(world, repository)}/git/trees/${commit.tree}` },
  verification: verificationView(commit),
});

/** A commit as the Git Data API shows it. */
export const gitCommitView = (world: World, repository: Repository, commit: ParsedCommit): JsonObject => ({
  sha: commit.sha,
  node_id: nodeId("C", commit.sha),
  url: `${repositoryUrl(world, repository)}/git/commits/${commit.sha}`,
  html_url: `${pageUrl(world, repository)}/commit/${commit.sha}`,
  ...insideView(world, repository, commit),
  parents: parentsView(world, repository, commit, "git/commits"),
});

/** A commit as the list of commits shows it; accounts are found by their no-reply address. */
export function commitView(
  world: World,
  repository: Repository,
  commit: ParsedCommit,
  files?: readonly FileDiff[],
): JsonObject {
  const url = `${repositoryUrl(world, repository)}/commits/${commit.sha}`;
  return {
    sha: commit.sha,
    node_id: nodeId("C", commit.sha),
    commit: {
      ...insideView(world, repository, commit),
      url: `${repositoryUrl(world, repository)}/git/commits/${commit.sha}`,
      comment_count: 0,
    },
    url,
    html_url: `${pageUrl(world, repository)}/commit/${commit.sha}`,
    comments_url: `${url}/comments`,
    author: byAddress(world, commit.author.email),
    committer: byAddress(world, commit.committer.email),
    parents: parentsView(world, repository, commit, "commits"),
    ...(files === undefined ? {} : { stats: statsOf(files), files: filesView(world, repository, commit.sha, files) }),
  };
}

function statsOf(files: readonly FileDiff[]): JsonObject {
  const additions = files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0);
  return { total: additions + deletions, additions, deletions };
}

/** The address that GitHub gives an account that keeps its own to itself. */
export const addressOf = (account: Account): string => `${account.id}+${account.login}@users.noreply.github.com`;

function byAddress(world: World, email: string): JsonObject | null {
  const account = [...world.accounts.values()].find((one) => addressOf(one) === email);
  return account === undefined ? null : accountView(world, account);
}

export const filesView = (
  world: World,
  repository: Repository,
  head: string,
  files: readonly FileDiff[],
): JsonObject[] =>
  files.map((file) => {
    const path = file.path.split("/").map(encodeURIComponent).join("/");
    return {
      sha: file.sha,
      filename: file.path,
      status: file.status,
      additions: file.additions,
      deletions: file.deletions,
      changes: file.additions + file.deletions,
      blob_url: `${pageUrl(world, repository)}/blob/${head}/${path}`,
      raw_url: `${pageUrl(world, repository)}/raw/${head}/${path}`,
      contents_url: `${repositoryUrl(world, repository)}/contents/${path}?ref=${head}`,
      ...(file.previousPath === null ? {} : { previous_filename: file.previousPath }),
      ...(file.patch === "" ? {} : { patch: file.patch }),
    };
  });
