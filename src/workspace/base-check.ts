import { lstatSync } from "node:fs";
import type { RandomBytes, TreeEntry } from "../domain/index.ts";
import { indexOf } from "./base-index.ts";
import { blobShaOf, objectFormatOf } from "./base-tree.ts";
import { readLinkBytes } from "./descriptor-walk.ts";
import { fileModeOf } from "./known-files.ts";
import { fileOf, KnownTree } from "./known-tree.ts";
import { readRegularFile } from "./read-file.ts";
import { type FolderPlace, FolderSteps, placeIn } from "./tree-folders.ts";
import { nothingSetUp } from "./tree-judge.ts";
import { unlimited } from "./tree-limits.ts";
import { walkTree } from "./tree-walk.ts";
import type { BaseTree } from "./workspace.ts";

/** A tree that should be exactly the base, open. */
export type SupposedBase = { readonly root: number; readonly base: BaseTree; readonly uid: number };

/** Whether the tree is the base and nothing else, every byte hashed. */
export async function isWholeBase({ root, base, uid }: SupposedBase): Promise<boolean> {
  const place = {
    root,
    upper: null,
    base,
    isIgnored: () => false,
    setUp: nothingSetUp,
    areStampsSure: false,
    limits: unlimited,
    uid,
  };
  const known = new KnownTree(base);
  const comparison = {
    entry: (path: string) => known.entry(path),
    stamped: () => undefined,
    ...{ commandStartedAtMs: 0, isSetUp: false },
  };
  const { judge, differences } = await walkTree(place, comparison);
  return differences.size === 0 && judge.causes.length === 0 && judge.ignored.length === 0;
}

type Randomness = { readonly randomBytes: RandomBytes };

/** Files looked at in each use of a tree: what is wrong with a tenth of them is found in 29 of 30 uses. */
const sampleFiles = 32;
/** A larger file is only looked at from outside. */
const sampleBytes = 256 * 1024;

/** Whether files of the base, taken at random, stand in the tree with owner, mode and content. Takes as long for any tree. */
export function isSampleOfBase(supposed: SupposedBase, random: Randomness): boolean {
  using folders = new FolderSteps(supposed.root);
  return sampleOf(supposed.base, random).every((path) => {
    const entry = fileOf(supposed.base, path);
    if (entry === undefined) return true; // a submodule
    const place = folders.find(path);
    return place !== null && isEntry(supposed, place, entry);
  });
}

function isEntry({ base, uid }: SupposedBase, { folder, name }: FolderPlace, entry: TreeEntry): boolean {
  const facts = lstatSync(placeIn(folder, name), { bigint: true, throwIfNoEntry: false });
  if (facts === undefined || facts.uid !== BigInt(uid) || facts.size !== BigInt(entry.sizeBytes)) return false;
  const isLink = facts.isSymbolicLink();
  if (isLink !== (entry.mode === "120000") || !(isLink || facts.isFile()) || facts.nlink !== 1n) return false;
  if (!isLink && fileModeOf(facts) !== entry.mode) return false;
  if (facts.size > sampleBytes) return true;
  const bytes = isLink ? readLinkBytes(folder, name) : readRegularFile(folder, name, sampleBytes)?.bytes;
  return bytes !== undefined && blobShaOf(bytes, objectFormatOf(base)) === entry.blobSha;
}

/** Each so-many-th path from a random one on. */
function sampleOf(base: BaseTree, { randomBytes }: Randomness): readonly string[] {
  const { paths } = indexOf(base);
  const step = Math.max(1, Math.floor(paths.length / sampleFiles));
  const first = Buffer.from(randomBytes(4)).readUInt32LE() % step;
  const sample: string[] = [];
  for (let at = first; at < paths.length; at += step) sample.push(paths[at] ?? "");
  return sample;
}
