import { type BigIntStats, closeSync, lstatSync, opendirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TreeEntry } from "../domain/index.ts";
import { blobShaOf, objectFormatOf } from "./base-tree.ts";
import { readLinkBytes } from "./descriptor-walk.ts";
import { collisionKey, refusedName, showName } from "./file-names.ts";
import type { IsIgnored } from "./ignored-folders.ts";
import { fileModeOf, isAsStamped, type KnownFile, stampOf } from "./known-files.ts";
import { bytesOfName, nameOfBytes } from "./path-bytes.ts";
import { readRegularFile } from "./read-file.ts";
import { openFolder, placeIn } from "./tree-folders.ts";
import { type TreeLimits, TreeMeasure } from "./tree-limits.ts";
import type { BaseTree } from "./workspace.ts";

export type TreePlace = {
  /** The descriptor where the walk starts. */
  readonly root: number;
  readonly base: BaseTree;
  /** Folders of the base, by path. */
  readonly baseFolders: ReadonlySet<string>;
  readonly isIgnored: IsIgnored;
  readonly limits: TreeLimits;
  /** To whom regular files must belong. */
  readonly uid: number;
};

/** Against what the tree is read: contents are kept of files that differ from it. */
export type Comparison = {
  entry(path: string): TreeEntry | undefined;
  /** What the file was when it was last read; null reads every byte. */
  known(path: string): KnownFile | undefined;
  readonly commandStartedAtMs: number;
};

export type WalkedTree = {
  readonly files: ReadonlyMap<string, KnownFile>;
  /** Bytes of files and texts of links that differ from the comparison. */
  readonly contents: ReadonlyMap<string, Buffer>;
  /** Why the tree can't be used; empty where it can. */
  readonly causes: readonly string[];
  /** Folders that were not entered. */
  readonly ignored: readonly string[];
};

const causesAtMost = 20;
/** How long the walk may hold up everything else in the process. */
const turnMs = 10;

/** Reads a tree in which nothing lives, by descriptors (SEC-86), and judges each entry (SEC-87 to SEC-89). */
export async function walkTree(place: TreePlace, comparison: Comparison): Promise<WalkedTree> {
  const walk = new TreeWalk(place, comparison);
  await walk.folder(place.root, "", 1);
  walk.missingGitlinks();
  return walk;
}

class TreeWalk implements WalkedTree {
  readonly #place: TreePlace;
  readonly #comparison: Comparison;
  readonly #measure: TreeMeasure;
  #changedFiles = 0;
  #changedBytes = 0;
  #turnStartedAt = performance.now();
  #isGivenUp = false;
  readonly #gitlinks = new Set<string>();
  readonly files = new Map<string, KnownFile>();
  readonly contents = new Map<string, Buffer>();
  readonly causes: string[] = [];
  readonly ignored: string[] = [];

  constructor(place: TreePlace, comparison: Comparison) {
    this.#place = place;
    this.#comparison = comparison;
    this.#measure = new TreeMeasure(place.limits);
  }

  async folder(descriptor: number, prefix: string, depth: number): Promise<void> {
    const names = new Map<string, { readonly name: string; readonly isNew: boolean }>();
    using listing = opendirSync(`/proc/self/fd/${descriptor}`, {
      encoding: "buffer" as BufferEncoding,
      bufferSize: 512,
    });
    for (let item = listing.readSync(); item !== null && !this.#isGivenUp; item = listing.readSync()) {
      const name = nameOfBytes(item.name as unknown as Buffer);
      const path = prefix + name;
      const isNew = !this.#place.base.entries.has(path) && !this.#place.baseFolders.has(path);
      if (path === ".git") this.ignored.push(path);
      else if (this.#mayStand(names, { name, path, isNew })) await this.#entry(descriptor, { name, path, depth });
    }
  }

  #refuse(path: string, cause: string): void {
    this.causes.push(`${showName(path)} ${cause}`);
    if (this.causes.length >= causesAtMost) this.#isGivenUp = true;
  }

  /** Whether the name may be there at all, beside its neighbours. What the base has may stay as it is. */
  #mayStand(
    names: Map<string, { readonly name: string; readonly isNew: boolean }>,
    entry: { readonly name: string; readonly path: string; readonly isNew: boolean },
  ): boolean {
    const cause = entry.isNew ? refusedName(entry.name) : null;
    if (cause !== null) {
      this.#refuse(entry.path, cause);
      return false;
    }
    const key = collisionKey(entry.name);
    const other = names.get(key);
    names.set(key, entry);
    if (other === undefined || !(other.isNew || entry.isNew)) return true;
    this.#refuse(entry.path, `can't be told from ${showName(other.name)} on some file systems`);
    return false;
  }

  async #entry(
    folder: number,
    at: { readonly name: string; readonly path: string; readonly depth: number },
  ): Promise<void> {
    try {
      const facts = lstatSync(placeIn(folder, at.name), { bigint: true });
      if (facts.isDirectory()) return await this.#enter(folder, at);
      this.#leaf(folder, at, facts);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      this.#refuse(at.path, `can't be read (${code})`);
    }
    if (performance.now() - this.#turnStartedAt < turnMs) return;
    await nextTurn();
    this.#turnStartedAt = performance.now();
  }

  async #enter(
    folder: number,
    at: { readonly name: string; readonly path: string; readonly depth: number },
  ): Promise<void> {
    if (this.#place.isIgnored(at.path)) {
      this.ignored.push(at.path);
      return;
    }
    if (at.depth >= this.#place.limits.depth) {
      this.#refuse(at.path, `lies deeper than ${this.#place.limits.depth} levels`);
      return;
    }
    const descriptor = openFolder(folder, at.name);
    try {
      if (this.#place.base.entries.get(at.path)?.mode === "160000") this.#gitlink(descriptor, at.path);
      else await this.folder(descriptor, `${at.path}/`, at.depth + 1);
    } finally {
      closeSync(descriptor);
    }
  }

  #gitlink(descriptor: number, path: string): void {
    this.#gitlinks.add(path);
    using listing = opendirSync(`/proc/self/fd/${descriptor}`);
    if (listing.readSync() !== null) this.#refuse(path, "is a submodule and must stay empty");
  }

  missingGitlinks(): void {
    for (const [path, { mode }] of this.#place.base.entries) {
      if (mode === "160000" && !this.#gitlinks.has(path)) this.#refuse(path, "is a submodule and must stay");
    }
  }

  #leaf(folder: number, at: { readonly name: string; readonly path: string }, facts: BigIntStats): void {
    const tooMuch = this.#measure.add(bytesOfName(at.path), Number(facts.size));
    if (tooMuch !== null) {
      this.causes.push(`the tree is too large: ${tooMuch}`);
      this.#isGivenUp = true;
    } else if (facts.isFile()) this.#file(folder, at, facts);
    else if (facts.isSymbolicLink()) this.#link(folder, at, facts);
    else this.#refuse(at.path, "is neither file, folder nor link");
  }

  #file(folder: number, at: { readonly name: string; readonly path: string }, seen: BigIntStats): void {
    if (seen.nlink !== 1n) return void this.#refuse(at.path, `has ${seen.nlink} hard links`);
    if (seen.uid !== BigInt(this.#place.uid)) return void this.#refuse(at.path, `belongs to user id ${seen.uid}`);
    const known = this.#comparison.known(at.path);
    if (known !== undefined && isAsStamped(seen, known.stamp, this.#comparison.commandStartedAtMs)) {
      this.files.set(at.path, known);
      return;
    }
    const file = readRegularFile(folder, at.name, this.#place.limits.fileBytes);
    if (file === null || file.bytes.length !== Number(file.facts.size)) {
      return void this.#refuse(at.path, "changed while it was read");
    }
    this.#keep(at.path, file.bytes, file.facts);
  }

  #link(folder: number, at: { readonly name: string; readonly path: string }, facts: BigIntStats): void {
    const text = readLinkBytes(folder, at.name);
    const base = this.#place.base.entries.get(at.path);
    if (base?.mode !== "120000") return void this.#refuse(at.path, "is a new link");
    if (blobShaOf(text, objectFormatOf(this.#place.base)) !== base.blobSha) {
      return void this.#refuse(at.path, "is a link that leads elsewhere than in the base");
    }
    this.#keep(at.path, text, facts);
  }

  #keep(path: string, bytes: Buffer, facts: BigIntStats): void {
    const mode = facts.isSymbolicLink() ? "120000" : fileModeOf(facts);
    const blobSha = blobShaOf(bytes, objectFormatOf(this.#place.base));
    this.files.set(path, { entry: { mode, blobSha, sizeBytes: bytes.length }, stamp: stampOf(facts) });
    const before = this.#comparison.entry(path);
    if (before?.mode === mode && before.blobSha === blobSha) return;
    this.contents.set(path, bytes);
    this.#changedFiles++;
    this.#changedBytes += bytes.length;
    const { changedFiles, changedBytes } = this.#place.limits;
    if (this.#changedFiles > changedFiles) this.#giveUp(`more than ${changedFiles} files changed`);
    if (this.#changedBytes > changedBytes) this.#giveUp(`more than ${changedBytes} bytes in changed files`);
  }

  #giveUp(cause: string): void {
    this.causes.push(cause);
    this.#isGivenUp = true;
  }
}
