import { type BigIntStats, closeSync, lstatSync } from "node:fs";
import { type BaseIndex, indexOf } from "./base-index.ts";
import { collisionKey } from "./file-names.ts";
import { openFolder, placeIn } from "./tree-folders.ts";
import { type Comparison, type Neighbours, type Place, TreeJudge, type TreePlace } from "./tree-judge.ts";
import { isNewName, type WalkedTree } from "./tree-walk.ts";

/**
 * Reads the same from an overlay's upper folder as `walkTree` does from the whole tree, in time that grows with the changes
 * alone (SEC-82). `place.root` is the overlay itself, which lies on exactly the base.
 * INVARIANT: both walks give the same (test/workspace/upper-walk.test.ts).
 */
export async function walkUpper(
  place: TreePlace & { readonly upper: number },
  comparison: Comparison,
): Promise<WalkedTree> {
  const walk = new UpperWalk(place, comparison);
  await walk.judge.root(() => walk.folder(place.upper, place.root, { path: "", depth: 1 }));
  walk.standing();
  return { judge: walk.judge, differences: walk.judge.differences(walk.gone) };
}

/** Made by overlayfs in the place of what was deleted; nobody else can (overlayfs: whiteouts and opaque directories). */
const isWhiteout = (facts: BigIntStats): boolean => facts.isCharacterDevice() && facts.rdev === 0n;

const below = (folder: string): string => (folder === "" ? "" : `${folder}/`);

const standingNames = (names: readonly string[]): Neighbours =>
  new Map(names.map((name) => [collisionKey(name), { name, isNew: false }]));

/** Names of one folder that are collected before any is judged: enough of them to tell which limit is passed. */
const namesBeyondFiles = 10_000;

class UpperWalk {
  readonly judge: TreeJudge;
  readonly #place: TreePlace;
  readonly #index: BaseIndex;
  /** Files of the base that are no longer there. */
  readonly gone = new Set<string>();
  #replacedFiles = 0;
  #hiddenBytes = 0;

  constructor(place: TreePlace, comparison: Comparison) {
    this.judge = new TreeJudge(place, comparison);
    this.#place = place;
    this.#index = indexOf(place.base);
  }

  /** `merged`: the same folder in the overlay; null where the base has none that could shine through. */
  async folder(upper: number, merged: number | null, { path, depth }: Pick<Place, "path" | "depth">): Promise<void> {
    const found: Place[] = [];
    for (const at of this.judge.entriesOf(upper, below(path), depth)) {
      found.push(at);
      if (this.judge.isTurnOver()) await this.judge.nextTurn();
      if (found.length > this.#place.limits.files + namesBeyondFiles) {
        return this.judge.giveUp(`the tree is too large: more than ${this.#place.limits.files} files`);
      }
    }
    const covered = new Set(found.map(({ name }) => name));
    const others = (this.#index.folders.get(path) ?? []).filter((name) => !covered.has(name));
    const isMerged = merged !== null && isVisible(merged, others[0]);
    if (!isMerged) for (const name of others) this.#remove(below(path) + name);
    const isNew = (at: Place): boolean => isNewName(this.#place, at.path);
    const neighbours: Neighbours = isMerged && found.some(isNew) ? standingNames(others) : new Map();
    for (const at of found) {
      if (this.judge.isGivenUp) return;
      await this.judge.entry(at, () => this.#entry(upper, merged, { ...at, neighbours, isNew: isNew(at) }));
    }
  }

  async #entry(
    upper: number,
    merged: number | null,
    at: Place & { readonly neighbours: Neighbours; readonly isNew: boolean },
  ): Promise<void> {
    const facts = lstatSync(placeIn(upper, at.name), { bigint: true });
    if (isWhiteout(facts)) return void this.#remove(at.path);
    if (!this.judge.mayStand(at.neighbours, at, at.isNew)) return;
    if (!facts.isDirectory()) {
      this.#cover(at.path);
      return void this.judge.leaf(upper, at, facts);
    }
    this.#coverFile(at.path);
    if (!this.judge.mayEnter(at, facts, at.isNew)) return;
    const hasBase = merged !== null && this.#index.folders.has(at.path);
    const folder = openFolder(upper, at.name);
    try {
      if (this.#place.base.entries.get(at.path)?.mode === "160000") return void this.judge.gitlink(folder, at.path);
      const seen = hasBase ? openFolder(merged, at.name) : null;
      try {
        await this.folder(folder, seen, { path: at.path, depth: at.depth + 1 });
      } finally {
        if (seen !== null) closeSync(seen);
      }
    } finally {
      closeSync(folder);
    }
  }

  /** A file or the like stands where the base has something. */
  #cover(path: string): void {
    const entry = this.#place.base.entries.get(path);
    if (entry === undefined || entry.mode === "160000") this.#remove(path);
    else {
      this.#replacedFiles++;
      this.#hiddenBytes += entry.sizeBytes;
    }
  }

  /** A folder stands where the base has a file. */
  #coverFile(path: string): void {
    const mode = this.#place.base.entries.get(path)?.mode;
    if (mode !== undefined && mode !== "160000") this.#remove(path);
  }

  /** Whatever the base has at the path or below it is gone. */
  #remove(path: string): void {
    const entry = this.#place.base.entries.get(path);
    if (entry?.mode === "160000") this.judge.lostGitlink(path);
    else if (entry !== undefined) {
      this.gone.add(path);
      this.#hiddenBytes += entry.sizeBytes;
    }
    for (const name of this.#index.folders.get(path) ?? []) this.#remove(`${path}/${name}`);
  }

  /** Measures what shines through. */
  standing(): void {
    if (this.judge.isGivenUp) return;
    const { files, totalBytes } = this.#index;
    this.judge.standing(files - this.gone.size - this.#replacedFiles, totalBytes - this.#hiddenBytes);
  }
}

/**
 * Whether the base's folder shines through the upper one, told by an entry of the base that the upper one does not cover.
 * Overlayfs says "opaque" in an attribute that Node.js can't read; what it shows says the same. Without such an entry
 * both kinds of folder are alike.
 */
const isVisible = (merged: number, name: string | undefined): boolean =>
  name !== undefined && lstatSync(placeIn(merged, name), { throwIfNoEntry: false }) !== undefined;
