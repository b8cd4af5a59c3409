import { rmdirSync, unlinkSync } from "node:fs";
import type { ChangeSet, FileChange } from "../domain/index.ts";
import { classOf } from "./descriptor-walk.ts";
import type { OpenTree } from "./files.ts";
import { FolderSteps, placeIn } from "./tree-folders.ts";
import { writeEntry } from "./write-entry.ts";

/** Lays a change set on a tree in which nothing lives: first what goes, then what comes, so that a file may become a folder. */
export function applyChanges(tree: OpenTree, changeSet: ChangeSet): void {
  for (const change of changeSet.changes) remove(tree, change.path);
  using folders = new FolderSteps(tree.root);
  for (const change of changeSet.changes) if (change.after !== null) write(tree, folders, change.path, change.after);
}

function write(tree: OpenTree, folders: FolderSteps, path: string, after: NonNullable<FileChange["after"]>): void {
  const { folder, name } = folders.make(path, tree.owner);
  const stamp = writeEntry(folder, name, { mode: after.mode, content: after.content, owner: tree.owner });
  const entry = { mode: after.mode, blobSha: after.blobSha, sizeBytes: after.content.length };
  tree.known.set(path, { entry, stamp });
}

function remove(tree: OpenTree, path: string): void {
  tree.known.delete(path);
  removeFileAt(tree.root, path);
}

/** Removes whatever is no folder at a path, and the folders above that this leaves empty. */
export function removeFileAt(root: number, path: string): void {
  using folders = new FolderSteps(root);
  const place = folders.find(path);
  if (place === null) return;
  const kind = classOf(place.folder, place.name);
  if (kind === "absent" || kind === "folder") return;
  unlinkSync(placeIn(place.folder, place.name));
  removeEmptyParents(root, path);
}

/** As git does: a folder is there because of its files. */
export function removeEmptyParents(root: number, path: string): void {
  using folders = new FolderSteps(root);
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
    const place = folders.find(path.slice(0, slash));
    if (place === null) return;
    try {
      rmdirSync(placeIn(place.folder, place.name));
    } catch {
      return; // not empty
    }
  }
}
