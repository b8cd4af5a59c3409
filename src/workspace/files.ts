import { createHash } from "node:crypto";
import { linkSync, lstatSync, renameSync, unlinkSync } from "node:fs";
import type { FileMode } from "../domain/index.ts";
import { blobShaOf } from "./base-tree.ts";
import { classOf, readLinkBytes } from "./descriptor-walk.ts";
import { refusedName, showName } from "./file-names.ts";
import { type Owner, randomName, type WorkspaceDeps } from "./host.ts";
import { fileModeOf, stampOf } from "./known-files.ts";
import type { KnownTree } from "./known-tree.ts";
import { type RegularFile, readRegularFile } from "./read-file.ts";
import { type FolderPlace, FolderSteps, placeIn } from "./tree-folders.ts";
import type { FileRead, FileWrite } from "./workspace.ts";
import { writeNewFile } from "./write-entry.ts";

/** A tree that the host may read and write by descriptors, and what is known of its files; each write keeps that current. */
export type OpenTree = {
  readonly root: number;
  readonly owner: Owner;
  readonly objectFormat: "sha1" | "sha256";
  readonly fileBytesAtMost: number;
  readonly known: KnownTree;
};

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const refused = (path: string, cause: string): FileWrite => ({ kind: "refused", cause: `${showName(path)} ${cause}` });

/** Reads a regular file at a resolved path. */
export function readFileAt(tree: OpenTree, path: string, maxBytes: number): FileRead {
  using folders = new FolderSteps(tree.root);
  const place = folders.find(path);
  const kind = place === null ? "absent" : classOf(place.folder, place.name);
  if (place === null || kind === "absent") return { kind: "absent" };
  const file = kind === "file" ? readRegularFile(place.folder, place.name, maxBytes) : null;
  if (file === null) return { kind: "not_a_file", class: kind === "folder" ? "folder" : "other" };
  if (file.facts.size > BigInt(maxBytes)) return { kind: "too_large", sizeBytes: Number(file.facts.size) };
  return {
    kind: "file",
    bytes: file.bytes,
    mode: fileModeOf(file.facts),
    sizeBytes: file.bytes.length,
    sha256: sha256Of(file.bytes),
    hardLinks: Number(file.facts.nlink),
  };
}

/** Replaces the bytes of a file that is still the expected one, in one rename; its permission bits stay (ACI-37). */
export function replaceFileAt(
  deps: WorkspaceDeps,
  tree: OpenTree,
  path: string,
  content: { readonly bytes: Uint8Array; readonly expectedSha256: string },
): FileWrite {
  using folders = new FolderSteps(tree.root);
  const place = folders.find(path);
  const kind = place === null ? "absent" : classOf(place.folder, place.name);
  if (place === null || kind === "absent") return { kind: "absent" };
  const file = kind === "file" ? readRegularFile(place.folder, place.name, tree.fileBytesAtMost) : null;
  if (file === null) return refused(path, "is no regular file");
  if (file.facts.nlink !== 1n) return refused(path, `has ${file.facts.nlink} hard links`);
  if (file.facts.size > BigInt(tree.fileBytesAtMost))
    return refused(path, `is larger than ${tree.fileBytesAtMost} bytes`);
  const sha256 = sha256Of(file.bytes);
  if (sha256 !== content.expectedSha256) return { kind: "changed", sha256 };
  return orFull(path, () => {
    writeBeside(deps, place, { bytes: content.bytes, permissions: permissionsOf(file), owner: tree.owner }, renameSync);
    return written(tree, path, place, content.bytes);
  });
}

/** Creates a file that isn't there, with mode 0644, and its parents (ACI-27). */
export function createFileAt(deps: WorkspaceDeps, tree: OpenTree, path: string, bytes: Uint8Array): FileWrite {
  for (const name of path.split("/")) {
    const cause = refusedName(name);
    if (cause !== null) return refused(path, `holds a name that ${cause}`);
  }
  using folders = new FolderSteps(tree.root);
  try {
    return orFull(path, () => {
      const place = folders.make(path, tree.owner);
      writeBeside(deps, place, { bytes, permissions: 0o644, owner: tree.owner }, (from, to) => {
        linkSync(from, to); // unlike a rename it fails where something is there already
        unlinkSync(from);
      });
      return written(tree, path, place, bytes);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return existing(tree, path);
    if (code === "ENOTDIR" || code === "ELOOP") return refused(path, "lies below something that is no folder");
    throw error;
  }
}

/** Removes a regular file, or a link itself, that is still the expected one (ACI-28). */
export function deleteFileAt(tree: OpenTree, path: string, expectedSha256: string): FileWrite {
  using folders = new FolderSteps(tree.root);
  const place = folders.find(path);
  const kind = place === null ? "absent" : classOf(place.folder, place.name);
  if (place === null || kind === "absent") return { kind: "absent" };
  if (kind !== "file" && kind !== "link") return refused(path, "is neither file nor link");
  const bytes =
    kind === "link"
      ? readLinkBytes(place.folder, place.name)
      : readRegularFile(place.folder, place.name, tree.fileBytesAtMost)?.bytes;
  const sha256 = sha256Of(bytes ?? Buffer.alloc(0));
  if (sha256 !== expectedSha256) return { kind: "changed", sha256 };
  return orFull(path, () => {
    unlinkSync(placeIn(place.folder, place.name)); // in an overlay this makes an entry
    const before = tree.known.entry(path) ?? null;
    tree.known.delete(path);
    return { kind: "written", change: { path, before, after: null }, sha256 };
  });
}

/** A work folder that commands have filled is no fault of ours (SEC-56). */
function orFull(path: string, write: () => FileWrite): FileWrite {
  try {
    return write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    return refused(path, "can't be written: no space is left in the work folder");
  }
}

const permissionsOf = (file: RegularFile): number => Number(file.facts.mode & 0o777n);

/** Writes a temporary file in the same folder, then makes it visible under its name by `publish`. */
function writeBeside(
  deps: WorkspaceDeps,
  place: FolderPlace,
  file: { readonly bytes: Uint8Array; readonly permissions: number; readonly owner: Owner },
  publish: (from: Buffer, to: Buffer) => void,
): void {
  const temporary = `.countersign-${randomName(deps)}`;
  const from = placeIn(place.folder, temporary);
  try {
    writeNewFile(place.folder, temporary, { ...file, content: file.bytes, isDurable: true });
    publish(from, placeIn(place.folder, place.name));
  } catch (error) {
    if (lstatSync(from, { throwIfNoEntry: false }) !== undefined) unlinkSync(from);
    throw error;
  }
}

function existing(tree: OpenTree, path: string): FileWrite {
  using folders = new FolderSteps(tree.root);
  const place = folders.find(path);
  const facts = place === null ? undefined : lstatSync(placeIn(place.folder, place.name), { throwIfNoEntry: false });
  return { kind: "exists", sizeBytes: facts?.size ?? 0 };
}

/** Records what now stands at `path` and words the change against what was known before. */
function written(tree: OpenTree, path: string, place: FolderPlace, bytes: Uint8Array): FileWrite {
  const facts = lstatSync(placeIn(place.folder, place.name), { bigint: true });
  const mode: FileMode = fileModeOf(facts);
  const blobSha = blobShaOf(bytes, tree.objectFormat);
  const before = tree.known.entry(path) ?? null;
  tree.known.set(path, { entry: { mode, blobSha, sizeBytes: bytes.length }, stamp: stampOf(facts) });
  return {
    kind: "written",
    change: { path, before, after: { mode, blobSha, content: bytes } },
    sha256: sha256Of(bytes),
  };
}
