import { CountersignError } from "../domain/index.ts";
import { type BlobFile, readBlobs } from "./blob-batch.ts";
import { gitCommand } from "./git.ts";
import type { GitCommand } from "./git-process.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import type { FileStamp } from "./known-files.ts";
import { FolderSteps, makeFolder } from "./tree-folders.ts";
import type { BaseTree } from "./workspace.ts";
import { writeEntry } from "./write-entry.ts";

/** `root`: the descriptor of a folder that has none of the entries. */
export type ExportPlace = { readonly root: number; readonly owner: Owner; readonly entries: BaseTree["entries"] };

/**
 * Writes entries of the base: bytes as committed, no attribute, no filter, no `.git` (SEC-81). Pointers of large file storage stay
 * pointers, gitlinks become empty folders.
 */
export async function exportTree(
  deps: WorkspaceDeps,
  base: BaseTree,
  { root, owner, entries }: ExportPlace,
  signal: AbortSignal,
): Promise<Map<string, FileStamp>> {
  const stamps = new Map<string, FileStamp>();
  using folders = new FolderSteps(root);
  const files = makeGitlinks(folders, entries, owner);
  const write = ({ path, mode }: BlobFile, content: Buffer): void => {
    const { folder, name } = folders.make(path, owner);
    stamps.set(path, writeEntry(folder, name, { mode, content, owner }));
  };
  const cause = await readBlobs(await blobCommand(deps, base), files, write, signal);
  if (cause !== null) throw exportFailed(base, cause);
  return stamps;
}

export const blobCommand = (deps: WorkspaceDeps, { mirrorFolder }: BaseTree): Promise<GitCommand> =>
  gitCommand(deps, { arguments: ["cat-file", "--batch", "--buffer"], gitFolder: mirrorFolder });

export const exportFailed = ({ commitSha }: BaseTree, cause: string): CountersignError =>
  new CountersignError("GIT_FAILED", `git could not read the objects of \`${commitSha}\`: ${cause}`);

/** Makes the empty folders that stand for submodules; answers with all the rest. */
export function makeGitlinks(folders: FolderSteps, entries: BaseTree["entries"], owner: Owner): readonly BlobFile[] {
  const files: BlobFile[] = [];
  for (const [path, { mode, blobSha }] of entries) {
    if (mode !== "160000") files.push({ path, mode, blobSha });
    else {
      const { folder, name } = folders.make(path, owner);
      makeFolder(folder, name, owner);
    }
  }
  return files;
}
