import { type BigIntStats, fstatSync, opendirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TreeEntry } from "../domain/index.ts";
import { blobShaOf, objectFormatOf } from "./base-tree.ts";
import { readLinkBytes } from "./descriptor-walk.ts";
import { collisionKey, refusedName, showName } from "./file-names.ts";
import type { IsIgnored } from "./ignored-folders.ts";
import { fileModeOf, isAsStamped, type KnownFile, stampOf } from "./known-files.ts";
import { type Differences, isSameEntry } from "./known-tree.ts";
import { bytesOfName, nameOfBytes } from "./path-bytes.ts";
import { readRegularFile } from "./read-file.ts";
import { type TreeLimits, TreeMeasure } from "./tree-limits.ts";
import type { BaseTree } from "./workspace.ts";

/** What the setup has made, as it was at its end (SEC-89). */
export type SetUp = { readonly made: ReadonlyMap<string, KnownFile>; readonly endedAtMs: number };

export const nothingSetUp: SetUp = { made: new Map(), endedAtMs: 0 };

export type TreePlace = {
  /** The descriptor where a walk of the whole tree starts. */
  readonly root: number;
  /** Of an overlay's upper folder, which alone holds what differs from the base; null where the whole tree must be walked. */
  readonly upper: number | null;
  readonly base: BaseTree;
  readonly isIgnored: IsIgnored;
  readonly setUp: SetUp;
  /**
   * Whether a file whose times stand has certainly not been written. Not on a memory file system: a page that was first read
   * through a shared mapping is then written without the kernel's notice, so there every file is read.
   */
  readonly areStampsSure: boolean;
  readonly limits: TreeLimits;
  /** To whom regular files must belong. */
  readonly uid: number;
};

/** Against what the tree is read: contents are kept of files that differ from it. */
export type Comparison = {
  entry(path: string): TreeEntry | undefined;
  /** What the file was when it was last read; null reads every byte. */
  stamped(path: string): KnownFile | undefined;
  readonly commandStartedAtMs: number;
  /** Whether the setup alone has worked on the tree: it may make links and give a file several names. */
  readonly isSetUp: boolean;
};

/** An entry of a folder. */
export type Place = { readonly name: string; readonly path: string; readonly depth: number };

/** The names of one folder so far, by what they are on the file systems that see the fewest differences. */
export type Neighbours = Map<string, { readonly name: string; readonly isNew: boolean }>;

const causesAtMost = 20;
/** To read a folder, and to go through it (inode(7)). */
const ownerLooksInto = 0o500n;
/** How long a walk may hold up everything else in the process. */
const turnMs = 10;

/** Judges what a walk comes across (SEC-87 to SEC-89) and keeps what differs (SEC-90), whichever way it goes. */
export class TreeJudge {
  readonly place: TreePlace;
  readonly #comparison: Comparison;
  readonly #measure: TreeMeasure;
  #newFolders = 0;
  #changedFiles = 0;
  #changedBytes = 0;
  #turnStartedAt = performance.now();
  #isGivenUp = false;
  readonly files = new Map<string, KnownFile>();
  /** Bytes of files and texts of links that differ from the comparison. */
  readonly contents = new Map<string, Buffer>();
  /** Why the tree can't be used; empty where it can. */
  readonly causes: string[] = [];
  /** Folders that were not entered, and what setup made and nobody changed. */
  readonly ignored: string[] = [];

  constructor(place: TreePlace, comparison: Comparison) {
    this.place = place;
    this.#comparison = comparison;
    this.#measure = new TreeMeasure(place.limits);
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** The entries of an open folder, as long as there is a point in looking on. */
  *entriesOf(descriptor: number, prefix: string, depth: number): Generator<Place> {
    using listing = opendirSync(`/proc/self/fd/${descriptor}`, {
      encoding: "buffer" as BufferEncoding,
      bufferSize: 512,
    });
    for (let item = listing.readSync(); item !== null && !this.#isGivenUp; item = listing.readSync()) {
      const name = nameOfBytes(item.name as unknown as Buffer);
      yield { name, path: prefix + name, depth };
    }
  }

  /** Judges one entry. What the system refuses to tell of it is a cause; a bug is thrown on. */
  async entry(at: Place, judge: () => void | Promise<void>): Promise<void> {
    try {
      await judge();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      this.refuse(at.path, `can't be read (${code})`);
    }
    if (this.isTurnOver()) await this.nextTurn();
  }

  /** Whether the walk has held up everything else for long enough. */
  isTurnOver(): boolean {
    return performance.now() - this.#turnStartedAt >= turnMs;
  }

  async nextTurn(): Promise<void> {
    await nextTurn();
    this.#turnStartedAt = performance.now();
  }

  refuse(path: string, cause: string): void {
    this.causes.push(`${showName(path)} ${cause}`);
    if (this.causes.length >= causesAtMost) this.#isGivenUp = true;
  }

  giveUp(cause: string): void {
    this.causes.push(cause);
    this.#isGivenUp = true;
  }

  /** Whether the name may be there at all, beside its neighbours. What the base or the setup has made may stay as it is. */
  mayStand(neighbours: Neighbours, { name, path }: Place, isNew: boolean): boolean {
    if (path === ".git") {
      this.ignored.push(path);
      return false;
    }
    const cause = isNew ? refusedName(name) : null;
    if (cause !== null) {
      this.refuse(path, cause);
      return false;
    }
    const key = collisionKey(name);
    const other = neighbours.get(key);
    neighbours.set(key, { name, isNew });
    if (other === undefined || !(other.isNew || isNew)) return true;
    this.refuse(path, `can't be told from ${showName(other.name)} on some file systems`);
    return false;
  }

  /** Judges the whole tree, from the folder that it lies in; `judge` walks through it. */
  async root(judge: () => Promise<void>): Promise<void> {
    const at = { name: "", path: ".", depth: 0 };
    await this.entry(at, async () => {
      if (this.#isOpen(at.path, fstatSync(this.place.root, { bigint: true }))) await judge();
    });
  }

  /** Root could read it all the same, but no command could go on from there, and an ordinary user's service could not read it. */
  #isOpen(path: string, { mode }: BigIntStats): boolean {
    if ((mode & ownerLooksInto) === ownerLooksInto) return true;
    this.refuse(
      path,
      `is a folder that is closed to its owner (mode ${(mode & 0o7777n).toString(8).padStart(4, "0")})`,
    );
    return false;
  }

  /** Whether a folder is walked through. Empty ones are no part of a commit, but looking into each takes its time. */
  mayEnter({ path, depth }: Place, facts: BigIntStats, isNew: boolean): boolean {
    if (this.place.isIgnored(path)) {
      this.ignored.push(path);
      return false;
    }
    if (!this.#isOpen(path, facts)) return false;
    if (isNew) this.#newFolders++;
    if (this.#newFolders > this.place.limits.files) {
      this.giveUp(`the tree is too large: more than ${this.place.limits.files} new folders`);
      return false;
    }
    if (depth < this.place.limits.depth) return true;
    this.refuse(path, `lies deeper than ${this.place.limits.depth} levels`);
    return false;
  }

  /** A submodule's folder, open. */
  gitlink(descriptor: number, path: string): void {
    using listing = opendirSync(`/proc/self/fd/${descriptor}`);
    if (listing.readSync() !== null) this.refuse(path, "is a submodule and must stay empty");
  }

  lostGitlink(path: string): void {
    this.refuse(path, "is a submodule and must stay");
  }

  /** Everything but a folder. */
  leaf(folder: number, at: Place, facts: BigIntStats): void {
    const excess = this.#measure.add(bytesOfName(at.path), Number(facts.size));
    if (excess !== null) this.giveUp(`the tree is too large: ${excess}`);
    else if (this.#isAsSetUp(folder, at, facts)) this.ignored.push(at.path);
    else if (facts.isFile()) this.#file(folder, at, facts);
    else if (facts.isSymbolicLink()) this.#link(folder, at, facts);
    else this.refuse(at.path, "is neither file, folder nor link");
  }

  /** Files of the base that the walk did not come to, since they stand as they are. */
  standing(files: number, bytes: number): void {
    const excess = this.#measure.addUnseen(files, bytes);
    if (excess !== null) this.giveUp(`the tree is too large: ${excess}`);
  }

  /** The files that the walk came to, and the paths of the base that are gone, as a difference from the base. */
  differences(gone: Iterable<string>): Differences {
    const { entries } = this.place.base;
    const differences = new Map<string, TreeEntry | null>();
    for (const [path, { entry }] of this.files)
      if (!isSameEntry(entries.get(path), entry)) differences.set(path, entry);
    for (const path of gone) differences.set(path, null);
    return differences;
  }

  #isAsSetUp(folder: number, at: Place, facts: BigIntStats): boolean {
    const { made, endedAtMs } = this.place.setUp;
    const before = made.get(at.path);
    if (before === undefined || !(facts.isFile() || facts.isSymbolicLink())) return false;
    if (this.place.areStampsSure && isAsStamped(facts, before.stamp, endedAtMs)) return true;
    const bytes = facts.isFile()
      ? readRegularFile(folder, at.name, this.place.limits.fileBytes)?.bytes
      : readLinkBytes(folder, at.name);
    return bytes !== undefined && isSameEntry(before.entry, this.#entryOf(facts, bytes));
  }

  #file(folder: number, at: Place, seen: BigIntStats): void {
    if (seen.nlink !== 1n && !this.#isOfSetUp(at.path))
      return void this.refuse(at.path, `has ${seen.nlink} hard links`);
    if (seen.uid !== BigInt(this.place.uid)) return void this.refuse(at.path, `belongs to user id ${seen.uid}`);
    const known = this.#comparison.stamped(at.path);
    if (known !== undefined && isAsStamped(seen, known.stamp, this.#comparison.commandStartedAtMs)) {
      this.files.set(at.path, known);
      return;
    }
    const file = readRegularFile(folder, at.name, this.place.limits.fileBytes);
    if (file === null || file.bytes.length !== Number(file.facts.size)) {
      return void this.refuse(at.path, "changed while it was read");
    }
    this.#keep(at.path, file.bytes, file.facts);
  }

  #link(folder: number, at: Place, facts: BigIntStats): void {
    const text = readLinkBytes(folder, at.name);
    const base = this.place.base.entries.get(at.path);
    if (this.#isOfSetUp(at.path)) return void this.#keep(at.path, text, facts);
    if (base?.mode !== "120000") return void this.refuse(at.path, "is a new link");
    if (this.#entryOf(facts, text).blobSha !== base.blobSha) {
      return void this.refuse(at.path, "is a link that leads elsewhere than in the base");
    }
    this.#keep(at.path, text, facts);
  }

  #isOfSetUp(path: string): boolean {
    return this.#comparison.isSetUp && !this.place.base.entries.has(path);
  }

  #entryOf(facts: BigIntStats, bytes: Buffer): TreeEntry {
    const mode = facts.isSymbolicLink() ? "120000" : fileModeOf(facts);
    return { mode, blobSha: blobShaOf(bytes, objectFormatOf(this.place.base)), sizeBytes: bytes.length };
  }

  #keep(path: string, bytes: Buffer, facts: BigIntStats): void {
    const entry = this.#entryOf(facts, bytes);
    this.files.set(path, { entry, stamp: stampOf(facts) });
    if (this.#comparison.isSetUp || isSameEntry(this.#comparison.entry(path), entry)) return;
    this.contents.set(path, bytes);
    this.#changedFiles++;
    this.#changedBytes += bytes.length;
    const { changedFiles, changedBytes } = this.place.limits;
    if (this.#changedFiles > changedFiles) this.giveUp(`more than ${changedFiles} files changed`);
    if (this.#changedBytes > changedBytes) this.giveUp(`more than ${changedBytes} bytes in changed files`);
  }
}
