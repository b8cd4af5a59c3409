import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  openSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import type { FileMode } from "../domain/index.ts";
import type { Owner } from "./host.ts";
import { type FileStamp, stampOf } from "./known-files.ts";
import { placeIn } from "./tree-folders.ts";

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Makes one file or link that isn't there yet, through its folder's descriptor, with its owner and git's mode. */
export function writeEntry(
  folder: number,
  name: string,
  file: { readonly mode: FileMode; readonly content: Uint8Array; readonly owner: Owner },
): FileStamp {
  if (file.mode === "120000") {
    const place = placeIn(folder, name);
    symlinkSync(Buffer.from(file.content), place);
    if (file.owner !== null) lchownSync(place, file.owner.uid, file.owner.gid);
    return stampOf(lstatSync(place, { bigint: true }));
  }
  return writeNewFile(folder, name, { ...file, permissions: permissionsOf(file.mode), isDurable: false });
}

/**
 * As `writeEntry`, where nobody else can reach the entry yet and nobody wants to know its stamp: three calls a file beside its bytes.
 * `umask`: the process's.
 */
export function writeFreshEntry(
  folder: number,
  name: string,
  file: { readonly mode: FileMode; readonly content: Uint8Array; readonly owner: Owner; readonly umask: number },
): void {
  if (file.mode === "120000") return void writeEntry(folder, name, file);
  const permissions = permissionsOf(file.mode);
  const descriptor = openSync(placeIn(folder, name), newFile, permissions);
  try {
    writeAll(descriptor, file.content);
    if (file.owner !== null) fchownSync(descriptor, file.owner.uid, file.owner.gid);
    if ((permissions & file.umask) !== 0) fchmodSync(descriptor, permissions);
  } finally {
    closeSync(descriptor);
  }
}

const permissionsOf = (mode: FileMode): number => (mode === "100755" ? 0o755 : 0o644);

function writeAll(descriptor: number, content: Uint8Array): void {
  for (let at = 0; at < content.length; ) at += writeSync(descriptor, content, at);
}

/** As `writeEntry`, of a regular file with any permission bits; `isDurable` waits for the disk. */
export function writeNewFile(
  folder: number,
  name: string,
  file: {
    readonly permissions: number;
    readonly content: Uint8Array;
    readonly owner: Owner;
    readonly isDurable: boolean;
  },
): FileStamp {
  const descriptor = openSync(placeIn(folder, name), newFile, 0o600);
  try {
    writeAll(descriptor, file.content);
    if (file.owner !== null) fchownSync(descriptor, file.owner.uid, file.owner.gid);
    fchmodSync(descriptor, file.permissions); // not at the opening, where the umask of the service would have a say
    if (file.isDurable) fsyncSync(descriptor);
    return stampOf(fstatSync(descriptor, { bigint: true }));
  } finally {
    closeSync(descriptor);
  }
}
