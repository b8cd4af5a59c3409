import type { TreeEntry } from "../domain/index.ts";
import type { BaseTree } from "./workspace.ts";

/** What can be asked of a base without walking through all of it again. */
export type BaseIndex = {
  readonly paths: readonly string[];
  /** The names that stand directly in each folder; the root is the empty path. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
  readonly gitlinks: readonly string[];
  /** Files and links, and their bytes. */
  readonly files: number;
  readonly totalBytes: number;
};

const indexes = new WeakMap<ReadonlyMap<string, TreeEntry>, BaseIndex>();

/** The index of a base, made when first asked for: several workspaces stand on one base. */
export function indexOf({ entries }: Pick<BaseTree, "entries">): BaseIndex {
  const made = indexes.get(entries) ?? makeIndex(entries);
  indexes.set(entries, made);
  return made;
}

function makeIndex(entries: ReadonlyMap<string, TreeEntry>): BaseIndex {
  const folders = new Map<string, string[]>([["", []]]);
  const gitlinks: string[] = [];
  let files = 0;
  let totalBytes = 0;
  for (const [path, { mode, sizeBytes }] of entries) {
    enterName(folders, path);
    if (mode === "160000") gitlinks.push(path);
    else {
      files++;
      totalBytes += sizeBytes;
    }
  }
  return { paths: Array.from(entries.keys()), folders, gitlinks, files, totalBytes };
}

/** Enters a name in its folder, and the folder in its own the first time. */
function enterName(folders: Map<string, string[]>, path: string): void {
  const slash = path.lastIndexOf("/");
  const folder = path.slice(0, Math.max(slash, 0));
  const name = path.slice(slash + 1);
  const names = folders.get(folder);
  if (names !== undefined) return void names.push(name);
  folders.set(folder, [name]);
  enterName(folders, folder);
}
