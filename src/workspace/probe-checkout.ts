import { join, relative } from "node:path";
import { CountersignError } from "../domain/index.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import { makeWorkFolder } from "./make-work-folder.ts";
import { Mounts, type TmpfsLimits } from "./mounts.ts";
import { kindsHere, layOver } from "./open-checkout.ts";
import { makeFolderWith } from "./sandbox-place.ts";
import type { CheckoutKind } from "./workspace.ts";

/** An empty work folder as a run's checkout lies on here, and why it is on nothing better. */
export type ProbeFolder = AsyncDisposable & {
  readonly folder: string;
  readonly kind: CheckoutKind;
  readonly causes: readonly string[];
};

type ProbePlace = {
  /** Of the probe alone. */
  readonly runFolder: string;
  readonly owner: Owner;
  readonly work: TmpfsLimits;
  /** One kind and no other; null takes the best that this machine allows. */
  readonly kind: CheckoutKind | null;
};

/** Tries the kinds of checkout for real, best first (SEC-56, SEC-82). Throws SANDBOX_FAILED where none can be had. */
export async function openProbeFolder(deps: WorkspaceDeps, place: ProbePlace): Promise<ProbeFolder> {
  const causes: string[] = [];
  for (const kind of place.kind === null ? kindsHere(place.owner) : [place.kind]) {
    const opened = await openAs(deps, place, kind);
    if (typeof opened !== "string") return { ...opened, kind, causes };
    causes.push(`${kind}: ${opened}`);
  }
  throw new CountersignError("SANDBOX_FAILED", `no work folder could be made: ${causes.join("; ")}`);
}

async function openAs(
  deps: WorkspaceDeps,
  { runFolder, owner, work }: ProbePlace,
  kind: CheckoutKind,
): Promise<(AsyncDisposable & Pick<ProbeFolder, "folder">) | string> {
  await using undo = new AsyncDisposableStack();
  const beside = join(runFolder, "work");
  makeFolderWith(beside, 0o711);
  const mounts = new Mounts(deps);
  undo.defer(() => mounts.unmountAll());
  if (kind !== "copy") {
    const cause = (await mounts.keepPrivate(runFolder)) ?? (await mounts.tmpfs(beside, work));
    if (cause !== null) return cause;
  }
  const folder = makeWorkFolder(join(beside, "tree"), owner);
  if (kind === "overlay") {
    if (owner === null) return "an overlay needs a run uid";
    const lower = relative(deps.home, makeWorkFolder(join(runFolder, "lower"), owner));
    const cause = await layOver(deps, mounts, { lower, beside, owner });
    if (cause !== null) return cause;
  }
  const close = undo.move();
  return { folder, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

/** One line for people: where a checkout lies and what bounds it. The lowest kind is no fault, but it is said loudly (SEC-56). */
export function describeCheckout({ kind, causes }: Pick<ProbeFolder, "kind" | "causes">, work: TmpfsLimits): string {
  const why = causes.length === 0 ? "" : ` (${causes.join("; ")})`;
  const bound = `in memory, at most ${mebibytes(work.bytes)} and ${work.inodes} files`;
  switch (kind) {
    case "overlay":
      return `an overlay on a cached tree; what is written lies ${bound}`;
    case "tmpfs":
      return `a copy ${bound}${why}`;
    case "copy":
      return `WARNING: a copy on disk, whose size is only watched, since this service may not mount${why}`;
  }
}
