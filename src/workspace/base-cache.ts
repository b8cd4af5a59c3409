import { chmodSync, closeSync, existsSync, lstatSync } from "node:fs";
import { join, relative } from "node:path";
import type { TreeEntry } from "../domain/index.ts";
import { removeEmptyParents, removeFileAt } from "./apply-changes.ts";
import { isSampleOfBase, isWholeBase } from "./base-check.ts";
import { indexOf } from "./base-index.ts";
import { listTree } from "./base-tree.ts";
import {
  breakSeal,
  type CachedTree,
  holdTree,
  isHeld,
  listCachedTrees,
  makeCachedTree,
  type SealState,
  sealState,
  sealTree,
  treeOf,
} from "./cached-tree.ts";
import { claim, tryClaim } from "./claim.ts";
import { fillTree } from "./fill-tree.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import { isSameEntry } from "./known-tree.ts";
import { removeFolder } from "./remove-folder.ts";
import { serviceFolder } from "./service-folder.ts";
import { openRoot } from "./tree-folders.ts";
import { unlimited } from "./tree-limits.ts";
import type { BaseTree } from "./workspace.ts";

/** A tree of exactly the base that nobody changes as long as it is held: overlays lie on it. */
export type CachedBase = {
  /** Relative to home. */
  readonly folder: string;
  release(): Promise<void>;
};

/** How long a second run waits for the tree that a first one writes. */
const writeWaitMs = 600_000;
/** Trees kept of one repository and run uid; then the one used longest ago is made into the next commit's. */
const treesOfOne = 2;
/** Of all; beyond these the tree used longest ago is removed. */
const treesAtMost = 32;
const bytesAtMost = 16 * 1024 ** 3;

/** What is wanted of the cache. */
type Wanted = { readonly base: BaseTree; readonly owner: NonNullable<Owner> };

/**
 * The cached tree of a base for a run uid; written, or made out of another commit's, where there is none (SEC-82). Why what is found
 * may be trusted, and why trees are changed rather than removed, is told in docs/adr/0014-cached-base-trees.md.
 */
export async function openCachedBase(deps: WorkspaceDeps, wanted: Wanted, signal: AbortSignal): Promise<CachedBase> {
  const cache = serviceFolder(deps, "bases", 0o700);
  const family = familyOf(wanted.base, wanted.owner.uid);
  const turn = await claim(deps, claimOf(family), writeWaitMs, signal);
  try {
    if (!isClosed(cache)) distrustAll(cache);
    const kin = (): readonly CachedTree[] => listCachedTrees(cache, (one) => one === family);
    const found = await findTree(deps, kin(), wanted);
    const tree = found ?? (await writeTree(deps, { cache, family, kin: kin(), wanted }, signal));
    const letGo = holdTree(deps, tree);
    const release = async (): Promise<void> => {
      letGo();
      await trim(deps, cache);
    };
    return { folder: relative(deps.home, treeOf(tree)), release };
  } finally {
    await turn.release();
  }
}

/**
 * The user ids of which the cache seems to hold a finished tree of the base. A hint, so that a run is given one of them where it can be:
 * whether the tree may be used, `openCachedBase` finds out.
 */
export function uidsWithTree({ home }: Pick<WorkspaceDeps, "home">, base: BaseTree): ReadonlySet<number> {
  const cache = join(home, "bases");
  if (!existsSync(cache)) return new Set();
  const ofRepository = familyOf(base, "");
  const trees = listCachedTrees(cache, (family) => family.startsWith(ofRepository));
  return new Set(
    trees
      .filter(({ seal }) => seal?.commitSha === base.commitSha)
      .map(({ family }) => Number(family.slice(ofRepository.length))),
  );
}

const familyOf = ({ repositoryId }: BaseTree, uid: number | ""): string => `${repositoryId.replace(":", "-")}-${uid}`;

const claimOf = (family: string): string => `base-${family}`;

/** Ours, and open to nobody else. */
function isClosed(folder: string): boolean {
  const { uid, mode } = lstatSync(folder);
  return uid === process.geteuid?.() && (mode & 0o077) === 0;
}

/** What others could reach may have been changed. */
function distrustAll(cache: string): void {
  for (const tree of listCachedTrees(cache)) breakSeal(tree);
  chmodSync(cache, 0o700);
}

async function findTree(deps: WorkspaceDeps, kin: readonly CachedTree[], wanted: Wanted): Promise<CachedTree | null> {
  const { base, owner } = wanted;
  for (const tree of kin) {
    const state = sealState(tree, base, owner);
    if (state === "of_another") continue;
    const isGood = state !== "broken" && (await isBase(deps, tree, state, wanted));
    if (isGood && state === "before_boot") sealTree(tree, base, indexOf(base).totalBytes);
    if (isGood) return tree;
    breakSeal(tree); // in use or not: it is never used again, and never changed into another
  }
  return null;
}

function isBase(deps: WorkspaceDeps, tree: CachedTree, state: SealState, { base, owner }: Wanted): Promise<boolean> {
  return withRoot(tree, (root) => {
    const supposed = { root, base, uid: owner.uid };
    return state === "holds" ? isSampleOfBase(supposed, deps) : isWholeBase(supposed);
  });
}

type Writing = {
  readonly cache: string;
  readonly family: string;
  readonly kin: readonly CachedTree[];
  readonly wanted: Wanted;
};

async function writeTree(
  deps: WorkspaceDeps,
  { cache, family, kin, wanted }: Writing,
  signal: AbortSignal,
): Promise<CachedTree> {
  const { base, owner } = wanted;
  const free = kin.filter((one) => !isHeld(one));
  for (const { seal, folder } of free) if (seal === null) await removeFolder(folder); // left by a kill, or found to be wrong
  const old = free.filter(({ seal }) => seal !== null).sort(byUse)[0];
  const isFull = kin.filter(({ seal }) => seal !== null).length >= treesOfOne;
  const changed = old !== undefined && isFull ? await changeTree(deps, old, wanted, signal) : null;
  if (changed !== null) return changed;
  const tree = makeCachedTree(deps, cache, family, owner);
  await withRoot(tree, (root) => fillTree(deps, base, { root, owner, entries: base.entries }, signal));
  sealTree(tree, base, indexOf(base).totalBytes);
  return tree;
}

const byUse = (one: CachedTree, other: CachedTree): number => one.usedAtMs - other.usedAtMs;

/**
 * Makes the tree of one commit into that of another; null where that one is no longer known or the tree not as it was. What the two have in
 * common is not touched.
 */
async function changeTree(
  deps: WorkspaceDeps,
  tree: CachedTree,
  { base, owner }: Wanted,
  signal: AbortSignal,
): Promise<CachedTree | null> {
  const commitSha = tree.seal?.commitSha ?? "";
  const before = await listTree(deps, { gitFolder: base.mirrorFolder, commitSha }, unlimited, signal).catch(() => null);
  signal.throwIfAborted();
  const former = before === null ? null : { ...base, commitSha, treeSha: tree.seal?.treeSha ?? "", entries: before };
  if (former === null || (await findTree(deps, [tree], { base: former, owner })) === null) {
    await removeFolder(tree.folder);
    return null;
  }
  breakSeal(tree);
  await withRoot(tree, async (root) => {
    for (const path of missingIn(base.entries, former.entries).keys()) removeEntry(root, path);
    await fillTree(deps, base, { root, owner, entries: missingIn(former.entries, base.entries) }, signal);
  });
  sealTree(tree, base, indexOf(base).totalBytes);
  return tree;
}

type Entries = ReadonlyMap<string, TreeEntry>;

/** What `entries` has and `others` hasn't, or has otherwise. */
const missingIn = (others: Entries, entries: Entries): Entries =>
  new Map(Array.from(entries).filter(([path, entry]) => !isSameEntry(others.get(path), entry)));

function removeEntry(root: number, path: string): void {
  removeFileAt(root, path);
  removeEmptyParents(root, `${path}/`); // a submodule's folder, too
}

async function withRoot<T>(tree: CachedTree, work: (root: number) => T | Promise<T>): Promise<T> {
  const root = openRoot(treeOf(tree));
  try {
    return await work(root);
  } finally {
    closeSync(root);
  }
}

/** Removes what is too much, the trees used longest ago first, and none that is held. */
async function trim(deps: WorkspaceDeps, cache: string): Promise<void> {
  let trees = 0;
  let bytes = 0;
  for (const tree of [...listCachedTrees(cache)].sort(byUse).reverse()) {
    trees++;
    bytes += tree.seal?.bytes ?? 0;
    if (trees <= treesAtMost && bytes <= bytesAtMost) continue;
    const turn = await tryClaim(deps, claimOf(tree.family));
    if (turn === null) continue;
    try {
      if (!isHeld(tree)) await removeFolder(tree.folder);
    } finally {
      await turn.release();
    }
  }
}
