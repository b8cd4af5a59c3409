import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Owner, randomName, type WorkspaceDeps } from "./host.ts";
import { isGone, readProcess } from "./process-tree.ts";
import type { BaseTree } from "./workspace.ts";

/** Says that a tree is finished, and what of. Whoever changes the tree breaks it first. */
const Seal = z.strictObject({
  commitSha: z.string(),
  treeSha: z.string(),
  bytes: z.int().nonnegative(),
  /** Of the tree's folder itself, so that no other folder in its place passes for it. */
  inode: z.string(),
  /** What was written before a crash of the machine need not have reached the disk, sealed or not. */
  bootId: z.string(),
});
type Seal = z.infer<typeof Seal>;

/** `<home>/bases/<family>-<random>`: `tree`, `seal`, and in `users` a file for each workspace that lies on it. */
export type CachedTree = {
  /** The repository and the run uid, whose trees can be made into one another. */
  readonly family: string;
  readonly folder: string;
  readonly seal: Seal | null;
  readonly usedAtMs: number;
};

const sealOf = (folder: string): string => join(folder, "seal");
export const treeOf = ({ folder }: Pick<CachedTree, "folder">): string => join(folder, "tree");
const usersOf = ({ folder }: Pick<CachedTree, "folder">): string => join(folder, "users");
const bootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();

/** A new empty tree, not sealed. */
export function makeCachedTree(
  deps: WorkspaceDeps,
  cache: string,
  family: string,
  owner: NonNullable<Owner>,
): CachedTree {
  const folder = join(cache, `${family}-${randomName(deps)}`);
  for (const path of [folder, treeOf({ folder }), usersOf({ folder })]) mkdirSync(path, { mode: 0o700 });
  chownSync(treeOf({ folder }), owner.uid, owner.gid);
  chmodSync(treeOf({ folder }), 0o755);
  return { family, folder, seal: null, usedAtMs: Date.now() };
}

/** Those of the families that are wanted: of no other is the seal read. */
export function listCachedTrees(
  cache: string,
  isWanted: (family: string) => boolean = () => true,
): readonly CachedTree[] {
  return readdirSync(cache).flatMap((name) => {
    const family = /^(.+)-[0-9a-f]{16}$/.exec(name)?.[1];
    if (family === undefined || !isWanted(family)) return [];
    const folder = join(cache, name);
    const usedAtMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    if (usedAtMs === undefined) return [];
    return { family, folder, seal: readSeal(folder), usedAtMs };
  });
}

function readSeal(folder: string): Seal | null {
  try {
    return Seal.parse(JSON.parse(readFileSync(sealOf(folder), "utf8")));
  } catch {
    return null; // none, or cut short
  }
}

/** The caller has just finished the tree. */
export function sealTree(tree: CachedTree, base: BaseTree, bytes: number): void {
  const inode = `${lstatSync(treeOf(tree), { bigint: true }).ino}`;
  const seal: Seal = { commitSha: base.commitSha, treeSha: base.treeSha, bytes, inode, bootId: bootId() };
  writeFileSync(sealOf(tree.folder), JSON.stringify(seal), { mode: 0o600 });
}

export const breakSeal = (tree: CachedTree): void => rmSync(sealOf(tree.folder), { force: true });

/** Whether the tree is finished and of this base. `before_boot`: the whole of it is to be read before it is used. */
export type SealState = "holds" | "before_boot" | "broken" | "of_another";

export function sealState(tree: CachedTree, base: BaseTree, owner: NonNullable<Owner>): SealState {
  const { seal } = tree;
  if (seal?.commitSha !== base.commitSha || seal.treeSha !== base.treeSha) return "of_another";
  const facts = lstatSync(treeOf(tree), { bigint: true, throwIfNoEntry: false });
  const isTheOne = facts?.isDirectory() && `${facts.ino}` === seal.inode && facts.uid === BigInt(owner.uid);
  if (!isTheOne) return "broken";
  return seal.bootId === bootId() ? "holds" : "before_boot";
}

/** Keeps the tree from being changed or removed, until the function returned is called or this process has ended. */
export function holdTree(deps: WorkspaceDeps, tree: CachedTree): () => void {
  const own = join(usersOf(tree), `${process.pid}.${readProcess(process.pid)?.startTime ?? "0"}.${randomName(deps)}`);
  writeFileSync(own, "", { flag: "wx", mode: 0o600 });
  utimesSync(tree.folder, new Date(), new Date());
  return () => rmSync(own, { force: true });
}

/** Whether a workspace of a living process lies on the tree. The caller holds the family's claim. */
export function isHeld(tree: CachedTree): boolean {
  return readdirSync(usersOf(tree)).some((name) => {
    const [pid = "0", startTime = ""] = name.split(".");
    if (!isGone(Number(pid), startTime)) return true;
    rmSync(join(usersOf(tree), name), { force: true });
    return false;
  });
}
