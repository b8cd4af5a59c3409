import type { FileChange } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import type { Read } from "../reader.ts";

type Entry = { readonly mode: string; readonly sha: string };
type Folder = ReadonlyMap<string, Entry>;

const folderMode = "040000";

/** What differs below one folder: by name the file itself, or what differs further down. */
function byName(changes: readonly FileChange[], depth: number): ReadonlyMap<string, FileChange[]> {
  const grouped = new Map<string, FileChange[]>();
  for (const change of changes) {
    const name = change.path.split("/")[depth] ?? "";
    grouped.set(name, [...(grouped.get(name) ?? []), change]);
  }
  return grouped;
}

const isSameEntry = (a: Entry | undefined, b: Entry | undefined): boolean => a?.mode === b?.mode && a?.sha === b?.sha;

/** The folder that an entry is; null: it is none. */
const treeOf = (entry: Entry | undefined): string | null => (entry?.mode === folderMode ? entry.sha : null);

type Pair<Of> = { readonly base: Of; readonly head: Of };

/**
 * Whether a tree is the base's with these changes and no other: only the folders on their paths are read, all other
 * entries are compared by mode and id.
 */
export async function isSameTree(
  read: Read,
  trees: Pair<string>,
  changes: readonly FileChange[],
  signal: AbortSignal,
): Promise<boolean> {
  async function folder(sha: string | null): Promise<Folder | null> {
    if (sha === null) return new Map();
    const tree = await read("/git/trees/{tree_sha}", { tree_sha: sha }, shapes.Tree, signal);
    return tree.truncated ? null : new Map(tree.tree.map(({ path, mode, sha: id }) => [path, { mode, sha: id }]));
  }

  async function isSameName({ base, head }: Pair<Entry | undefined>, below: readonly FileChange[], depth: number) {
    const itself = below.find((change) => change.path.split("/").length === depth);
    const after = itself?.after ?? null;
    if (after !== null) return isSameEntry(head, { mode: after.mode, sha: after.blobSha });
    if (head !== undefined && treeOf(head) === null) return false;
    const deeper = below.filter((change) => change !== itself);
    return await isSameFolder({ base: treeOf(base), head: treeOf(head) }, deeper, depth);
  }

  async function isSameFolder(
    pair: Pair<string | null>,
    changed: readonly FileChange[],
    depth: number,
  ): Promise<boolean> {
    const [base, head] = [await folder(pair.base), await folder(pair.head)];
    if (base === null || head === null) return false;
    const grouped = byName(changed, depth);
    const untouched = [...base.keys(), ...head.keys()].filter((name) => !grouped.has(name));
    if (!untouched.every((name) => isSameEntry(base.get(name), head.get(name)))) return false;
    for (const [name, below] of grouped)
      if (!(await isSameName({ base: base.get(name), head: head.get(name) }, below, depth + 1))) return false;
    return true;
  }

  return await isSameFolder(trees, changes, 0);
}
