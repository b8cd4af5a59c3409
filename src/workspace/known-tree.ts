import { createHash } from "node:crypto";
import type { TreeEntry } from "../domain/index.ts";
import type { FileStamp, KnownFile } from "./known-files.ts";
import type { BaseTree } from "./workspace.ts";

/** What stands at a path instead of what the base has there; null: nothing. */
export type Differences = ReadonlyMap<string, TreeEntry | null>;

/** The files of a tree as last read or written. Its size is that of the difference from the base, not that of the base. */
export class KnownTree {
  readonly #base: BaseTree;
  #differences = new Map<string, TreeEntry | null>();
  #stamps: Map<string, FileStamp>;

  /** As the base. `stamps`: of the files whose making was watched. */
  constructor(base: BaseTree, stamps: Map<string, FileStamp> = new Map()) {
    this.#base = base;
    this.#stamps = stamps;
  }

  get differences(): Differences {
    return this.#differences;
  }

  /** A file or link; of a submodule nothing is known. */
  entry(path: string): TreeEntry | undefined {
    const different = this.#differences.get(path);
    return different === undefined ? fileOf(this.#base, path) : (different ?? undefined);
  }

  /** A file whose state can be told without reading it. */
  stamped(path: string): KnownFile | undefined {
    const stamp = this.#stamps.get(path);
    const entry = stamp === undefined ? undefined : this.entry(path);
    return stamp === undefined || entry === undefined ? undefined : { entry, stamp };
  }

  set(path: string, { entry, stamp }: KnownFile): void {
    if (isSameEntry(fileOf(this.#base, path), entry)) this.#differences.delete(path);
    else this.#differences.set(path, entry);
    this.#stamps.set(path, stamp);
  }

  delete(path: string): void {
    if (fileOf(this.#base, path) === undefined) this.#differences.delete(path);
    else this.#differences.set(path, null);
    this.#stamps.delete(path);
  }

  /** Takes over what a reading of the whole tree found. */
  become(differences: Differences, stamps: Map<string, FileStamp>): void {
    this.#differences = new Map(differences);
    this.#stamps = stamps;
  }

  *paths(): Generator<string> {
    for (const path of this.#base.entries.keys()) if (this.entry(path) !== undefined) yield path;
    for (const [path, entry] of this.#differences) if (entry !== null && !this.#base.entries.has(path)) yield path;
  }

  fingerprint(): string {
    return fingerprintOf(this.#base, this.#differences);
  }
}

/** What the base has at a path, submodules left out. */
export const fileOf = ({ entries }: Pick<BaseTree, "entries">, path: string): TreeEntry | undefined => {
  const entry = entries.get(path);
  return entry?.mode === "160000" ? undefined : entry;
};

type Version = Pick<TreeEntry, "mode" | "blobSha">;

/** By mode and content; both absent is the same too. */
export const isSameEntry = (one: Version | undefined, other: Version | undefined): boolean =>
  one?.mode === other?.mode && one?.blobSha === other?.blobSha;

/** SHA-256 over the tree of the base and what differs from it: of one base, equal for equal trees alone. */
export function fingerprintOf({ treeSha }: Pick<BaseTree, "treeSha">, differences: Differences): string {
  const lines = Array.from(differences, ([path, entry]) =>
    entry === null ? `${path}\0deleted\n` : `${path}\0${entry.mode} ${entry.blobSha}\n`,
  );
  return createHash("sha256").update(`${treeSha}\n`).update(lines.sort().join("")).digest("hex");
}
