import type { BigIntStats } from "node:fs";
import type { FileMode, TreeEntry } from "../domain/index.ts";

/** A file as last read or written, with what tells without reading it again whether it may have changed since. */
export type KnownFile = { readonly entry: TreeEntry; readonly stamp: FileStamp };

export type FileStamp = {
  readonly changedAtNs: bigint;
  readonly modifiedAtNs: bigint;
  readonly inode: bigint;
  readonly sizeBytes: bigint;
  readonly mode: bigint;
};

/** The kernel stamps files with the time of its last tick: 10 ms at 100 Hz, the slowest in use. Twice that is certain. */
const tickNs = 20_000_000n;

export const stampOf = (facts: BigIntStats): FileStamp => ({
  changedAtNs: facts.ctimeNs,
  modifiedAtNs: facts.mtimeNs,
  inode: facts.ino,
  sizeBytes: facts.size,
  mode: facts.mode,
});

/**
 * Whether the file is certainly the one that was stamped. `ctime` is the one stamp that no program can set back; by git's
 * racy rule it proves nothing where the file was written in the tick in which the next command may have started.
 */
export const isAsStamped = (facts: BigIntStats, stamp: FileStamp, commandStartedAtMs: number): boolean =>
  facts.ctimeNs === stamp.changedAtNs &&
  facts.mtimeNs === stamp.modifiedAtNs &&
  facts.ino === stamp.inode &&
  facts.size === stamp.sizeBytes &&
  facts.mode === stamp.mode &&
  stamp.changedAtNs + tickNs <= BigInt(Math.floor(commandStartedAtMs)) * 1_000_000n;

/** Git knows two modes of a regular file: the owner may execute it, or not. */
export const fileModeOf = (facts: BigIntStats): FileMode => ((facts.mode & 0o100n) === 0n ? "100644" : "100755");
