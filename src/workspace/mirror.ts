import { chmod, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assertNever, type RepositoryRef } from "../domain/index.ts";
import { indexOf } from "./base-index.ts";
import { listTree } from "./base-tree.ts";
import { claim } from "./claim.ts";
import type { FoundSource } from "./found-source.ts";
import { askGit, runGit } from "./git.ts";
import { type GithubSource, readGithubSource } from "./github-source.ts";
import type { WorkspaceDeps } from "./host.ts";
import { keptBase } from "./kept-bases.ts";
import { readLocalSource } from "./local-source.ts";
import { readRemoteSource } from "./remote-source.ts";
import { serviceFolder } from "./service-folder.ts";
import type { TreeLimits } from "./tree-limits.ts";
import type { BaseTree } from "./workspace.ts";

/** Where the base comes from: the folder or address typed after `run --repo`, or one commit that GitHub's API named. */
export type BaseSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "url"; readonly url: string }
  | GithubSource;

export type OpenedBase = {
  readonly base: BaseTree;
  readonly repository: RepositoryRef;
  readonly uncommitted: readonly string[];
};

/**
 * Finds the commit of a path's `HEAD` (of a URL's default branch), fetches exactly it into the repository's mirror and lists
 * its tree. Throws NOT_A_REPOSITORY, GIT_FAILED, GIT_MISSING, TREE_TOO_LARGE, LOCK_HELD. Never writes to the source, never
 * runs its hooks, filters or file system monitor.
 */
export async function openBase(
  deps: WorkspaceDeps,
  source: BaseSource,
  limits: TreeLimits,
  signal: AbortSignal,
): Promise<OpenedBase> {
  const found = await readSource(deps, source, signal);
  const mirrors = serviceFolder(deps, "mirrors", 0o700);
  const mirrorFolder = join(mirrors, found.repository.id.replace(":", "-"));
  await fetchCommit(deps, found, mirrorFolder, signal);
  const place = { repositoryId: found.repository.id, commitSha: found.commitSha, mirrorFolder };
  const base = await readBase(deps, place, limits, signal);
  return { base, repository: found.repository, uncommitted: found.uncommitted };
}

function readSource(deps: WorkspaceDeps, source: BaseSource, signal: AbortSignal): Promise<FoundSource> {
  switch (source.kind) {
    case "path":
      return readLocalSource(deps, source.path, signal);
    case "url":
      return readRemoteSource(deps, source.url, signal);
    case "github":
      return Promise.resolve(readGithubSource(source));
    default:
      return assertNever(source);
  }
}

/** The tree of a commit that was opened before, from the mirror alone; null where the mirror no longer holds it. */
export async function reopenBase(
  deps: WorkspaceDeps,
  place: { readonly repositoryId: string; readonly commitSha: string },
  limits: TreeLimits,
  signal: AbortSignal,
): Promise<BaseTree | null> {
  const mirrorFolder = join(serviceFolder(deps, "mirrors", 0o700), place.repositoryId.replace(":", "-"));
  if (!(await holdsCommit(deps, mirrorFolder, place.commitSha, signal))) return null;
  return readBase(deps, { ...place, mirrorFolder }, limits, signal);
}

type BasePlace = Pick<BaseTree, "repositoryId" | "commitSha" | "mirrorFolder">;

/** The caller knows that the mirror holds the commit. */
function readBase(deps: WorkspaceDeps, place: BasePlace, limits: TreeLimits, signal: AbortSignal): Promise<BaseTree> {
  const key = JSON.stringify([place.repositoryId, place.commitSha, place.mirrorFolder, limits]);
  return keptBase(key, () => listBase(deps, place, limits, signal));
}

async function listBase(
  deps: WorkspaceDeps,
  place: BasePlace,
  limits: TreeLimits,
  signal: AbortSignal,
): Promise<BaseTree> {
  const { commitSha, mirrorFolder: gitFolder } = place;
  const ask = ["rev-parse", "--verify", "--end-of-options", `${commitSha}^{tree}`];
  const treeSha = await runGit(deps, { arguments: ask, gitFolder, purpose: "find the tree of the commit" }, signal);
  const entries = await listTree(deps, { gitFolder, commitSha }, limits, signal);
  indexOf({ entries }); // now, since a run that has begun should not wait for it
  return { ...place, treeSha: treeSha.toString("latin1").trim(), entries };
}

/** How long a second run waits for the fetch of a first one: the time limit of one fetch. */
const fetchWaitMs = 600_000;

async function fetchCommit(
  deps: WorkspaceDeps,
  found: FoundSource,
  mirrorFolder: string,
  signal: AbortSignal,
): Promise<void> {
  if (await holdsCommit(deps, mirrorFolder, found.commitSha, signal)) return;
  const lock = await claim(deps, `mirror-${found.repository.id.replace(":", "-")}`, fetchWaitMs, signal);
  try {
    if (await holdsCommit(deps, mirrorFolder, found.commitSha, signal)) return;
    await prepareMirror(deps, mirrorFolder, found.objectFormat, signal);
    await fetchInto(deps, found, mirrorFolder, signal);
  } finally {
    await lock.release();
  }
}

/** Fetches exactly one commit, by the one protocol that this takes (SEC-78, SEC-79). */
async function fetchInto(deps: WorkspaceDeps, found: FoundSource, mirrorFolder: string, signal: AbortSignal) {
  const configuration = join(mirrorFolder, "countersign-fetch-config");
  // A file, since git takes settings of `-c` away from the upload-pack that it starts for a local path.
  await writeFile(configuration, safeDirectories(found.safeFolders), { mode: 0o600 });
  const options = ["--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet"];
  const what = [found.address, `+${found.commitSha}:refs/countersign/${found.commitSha}`];
  try {
    const call = {
      arguments: ["fetch", ...options, "--end-of-options", ...what],
      gitFolder: mirrorFolder,
      settings: [`protocol.${found.protocol}.allow=always`],
      environment: { GIT_CONFIG_GLOBAL: configuration, ...found.environment },
      purpose: `fetch \`${found.commitSha}\` from \`${found.address}\``,
    };
    await runGit(deps, call, signal);
  } finally {
    await rm(configuration, { force: true });
  }
}

/** The ref is written last, so it says that the commit and all below it are there. */
async function holdsCommit(
  deps: WorkspaceDeps,
  mirrorFolder: string,
  commitSha: string,
  signal: AbortSignal,
): Promise<boolean> {
  const isMirror = await stat(join(mirrorFolder, "HEAD")).then(
    () => true,
    () => false,
  );
  if (!isMirror) return false;
  const call = ["rev-parse", "--verify", "--quiet", "--end-of-options", `refs/countersign/${commitSha}`];
  return (await askGit(deps, { arguments: call, gitFolder: mirrorFolder }, signal)).kind === "done";
}

/** Makes the mirror, or clears what a killed fetch left in it. The caller holds the mirror's lock. */
async function prepareMirror(
  deps: WorkspaceDeps,
  mirrorFolder: string,
  objectFormat: string,
  signal: AbortSignal,
): Promise<void> {
  await runGit(
    deps,
    {
      arguments: ["init", "--quiet", "--bare", "--template=", `--object-format=${objectFormat}`, "--", mirrorFolder],
      gitFolder: null,
      purpose: "make the mirror",
    },
    signal,
  );
  await chmod(mirrorFolder, 0o700);
  const isLeftover = (path: string): boolean => path.endsWith(".lock") || /(^|\/)tmp_[^/]*$/.test(path);
  for (const path of await readdir(mirrorFolder, { recursive: true })) {
    if (isLeftover(path)) await rm(join(mirrorFolder, path), { force: true, recursive: true });
  }
}

const safeDirectories = (folders: readonly string[]): string =>
  ["[safe]", ...folders.map((folder) => `\tdirectory = "${quoteForGit(folder)}"`), ""].join("\n");

/** The escapes of a quoted value in git-config(1), CONFIGURATION FILE, Syntax. */
const quoteForGit = (value: string): string =>
  value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
