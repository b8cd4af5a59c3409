import { closeSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { CountersignError } from "../domain/index.ts";
import { openCachedBase } from "./base-cache.ts";
import { exportTree } from "./export.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import type { FileStamp } from "./known-files.ts";
import { KnownTree } from "./known-tree.ts";
import { makeWorkFolder } from "./make-work-folder.ts";
import { Mounts, mountableHere, type TmpfsLimits } from "./mounts.ts";
import { removeFolder } from "./remove-folder.ts";
import { makeFolderWith } from "./sandbox-place.ts";
import { openRoot } from "./tree-folders.ts";
import { refuseLargeTree } from "./tree-limits.ts";
import type { BaseTree, CheckoutKind } from "./workspace.ts";

/** A writable tree of the base. */
export type Checkout = {
  readonly kind: CheckoutKind;
  readonly folder: string;
  /** Descriptors of the tree, and of the upper folder where there is one. */
  readonly root: number;
  readonly upper: number | null;
  readonly known: KnownTree;
};

type CheckoutPlace = {
  /** Of the service, for this run alone. */
  readonly runFolder: string;
  readonly owner: Owner;
  readonly work: TmpfsLimits;
  /** One kind and no other; null takes the best that this machine allows. */
  readonly kind: CheckoutKind | null;
};

/** Where `openCheckout` may mount below a run's folder, for the register: what a killed run left is taken off from the inside out. */
export const mountPointsOf = (runFolder: string): readonly string[] => [
  join(runFolder, "apart"),
  join(runFolder, "work", "tree"),
  join(runFolder, "work"),
  runFolder,
];

/** Throws SANDBOX_FAILED where the one kind that was asked for can't be had, and what an export throws. */
export async function openCheckout(
  deps: WorkspaceDeps,
  base: BaseTree,
  place: CheckoutPlace,
  signal: AbortSignal,
): Promise<Checkout & AsyncDisposable> {
  const causes: string[] = [];
  for (const kind of place.kind === null ? kindsHere(place.owner) : [place.kind]) {
    const opened = await openAs(deps, base, { ...place, kind }, signal);
    if (typeof opened !== "string") return opened;
    causes.push(opened);
  }
  throw new CountersignError("SANDBOX_FAILED", `no work folder could be made: ${causes.join("; ")}`);
}

/** What may be had here, best first. */
export function kindsHere(owner: Owner): readonly CheckoutKind[] {
  const mountable = mountableHere();
  if (owner === null || !mountable.tmpfs) return ["copy"];
  return mountable.overlay ? ["overlay", "tmpfs", "copy"] : ["tmpfs", "copy"];
}

/** Answers why this kind can't be had here. */
async function openAs(
  deps: WorkspaceDeps,
  base: BaseTree,
  place: CheckoutPlace & { readonly kind: CheckoutKind },
  signal: AbortSignal,
): Promise<(Checkout & AsyncDisposable) | string> {
  await using undo = new AsyncDisposableStack();
  const { kind, runFolder, owner } = place;
  const beside = join(runFolder, "work");
  makeFolderWith(beside, 0o711);
  const mounts = new Mounts(deps);
  const mounting = kind === "copy" ? Promise.resolve(null) : mountWork(mounts, runFolder, place.work);
  // Looked for while `mount` runs: neither needs the other.
  const below = kind === "overlay" && owner !== null ? openCachedBase(deps, { base, owner }, signal) : null;
  const held = below?.catch(() => null); // what it throws is met where it is needed
  undo.defer(async () => (await held)?.release()); // once nothing lies on it any more
  undo.defer(() => mounts.unmountAll());
  const unmountable = await mounting;
  if (unmountable !== null) return unmountable;
  const folder = makeWorkFolder(join(beside, "tree"), owner);
  if (kind === "overlay") {
    if (below === null) return "an overlay needs a run uid, to whom the cached tree belongs";
    const cause = await layOver(deps, mounts, { lower: (await below).folder, beside, owner });
    if (cause !== null) return cause;
  }
  const open = (path: string): number => {
    const descriptor = openRoot(path);
    undo.defer(() => closeSync(descriptor));
    return descriptor;
  };
  const root = open(folder);
  const upper = kind === "overlay" ? open(join(beside, "upper")) : null;
  const stamps = kind === "overlay" ? undefined : await copyInto(deps, base, { root, owner }, signal);
  const close = undo.move();
  return {
    ...{ kind, folder, root, upper },
    known: new KnownTree(base, stamps),
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

/** Bounded memory on `work` below the run's folder, in no other mount namespace. Answers why not, or null. */
const mountWork = async (mounts: Mounts, runFolder: string, limits: TmpfsLimits): Promise<string | null> =>
  (await mounts.keepPrivate(runFolder)) ?? (await mounts.tmpfs(join(runFolder, "work"), limits));

/**
 * A further work folder of the run's own, empty, for the time of `work`; with limits of its own where the checkout has some, since the
 * checkout's may be used up.
 */
export async function withFolderApart<T>(
  deps: WorkspaceDeps,
  place: Omit<CheckoutPlace, "kind"> & { readonly kind: CheckoutKind },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const apart = join(place.runFolder, "apart");
  makeFolderWith(apart, 0o711);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => removeFolder(apart));
  const mounts = new Mounts(deps);
  undo.defer(() => mounts.unmountAll());
  const cause = place.kind === "copy" ? null : await mounts.tmpfs(apart, place.work);
  if (cause !== null) throw new CountersignError("SANDBOX_FAILED", `no work folder could be made: ${cause}`);
  return await work(makeWorkFolder(join(apart, "tree"), place.owner));
}

/** Mounts an overlay as the run's tree: below it the cached tree, above it a folder of the run's own. Answers why not, or null. */
export function layOver(
  deps: WorkspaceDeps,
  mounts: Mounts,
  { lower, beside, owner }: { readonly lower: string; readonly beside: string; readonly owner: Owner },
): Promise<string | null> {
  const upper = makeWorkFolder(join(beside, "upper"), owner);
  const work = join(beside, "overlay");
  mkdirSync(work, { mode: 0o700 });
  const fromHome = (path: string): string => relative(deps.home, path);
  return mounts.overlay(join(beside, "tree"), { lower, upper: fromHome(upper), work: fromHome(work) });
}

/** A copy may be larger than a work folder may be. */
async function copyInto(
  deps: WorkspaceDeps,
  base: BaseTree,
  place: { readonly root: number; readonly owner: Owner },
  signal: AbortSignal,
): Promise<Map<string, FileStamp>> {
  try {
    return await exportTree(deps, base, { ...place, entries: base.entries }, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    return refuseLargeTree("the work folder has no room for it");
  }
}
