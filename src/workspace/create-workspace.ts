import { closeSync, fchmodSync, fstatSync } from "node:fs";
import { join } from "node:path";
import { CountersignError, isCountersignError } from "../domain/index.ts";
import { createAccessLock } from "./access-lock.ts";
import { applyChanges } from "./apply-changes.ts";
import { uidsWithTree } from "./base-cache.ts";
import { objectFormatOf } from "./base-tree.ts";
import { closestPaths } from "./close-names.ts";
import { type ConfinementOptions, openConfinement } from "./confinement.ts";
import { walkPath } from "./descriptor-walk.ts";
import { createFileAt, deleteFileAt, type OpenTree, readFileAt, replaceFileAt } from "./files.ts";
import { type Owner, randomName, type WorkspaceDeps } from "./host.ts";
import { ignoredFolders } from "./ignored-folders.ts";
import type { TmpfsLimits } from "./mounts.ts";
import { type Checkout, mountPointsOf, openCheckout, withFolderApart } from "./open-checkout.ts";
import { checkedEnvironment, checkedToolchains } from "./operator-inputs.ts";
import { removeFolder } from "./remove-folder.ts";
import { requireBubblewrap } from "./require-bubblewrap.ts";
import { takeRunUid } from "./run-uids.ts";
import { hasProcessGroup } from "./rung.ts";
import { runInSandbox } from "./sandbox.ts";
import { searchPathInside, type Toolchain } from "./sandbox-flags.ts";
import { makeFolderWith, makeSandboxFolders, type SandboxPlace } from "./sandbox-place.ts";
import { refuseUnreachable, serviceFolder } from "./service-folder.ts";
import { type SetupExtras, type SetupOptions, setUpTree } from "./setup-command.ts";
import { FolderSteps, openRoot } from "./tree-folders.ts";
import { nothingSetUp, type TreePlace } from "./tree-judge.ts";
import type { TreeLimits } from "./tree-limits.ts";
import { readBack, readChanges, readSetUp } from "./tree-reading.ts";
import type { BaseTree, CheckoutKind, ExecRequest, Workspace } from "./workspace.ts";
import { writeNewFile } from "./write-entry.ts";

export type WorkspaceOptions = {
  /** The text of COUNTERSIGN_RUN_UIDS; needed by root, unused by others. */
  readonly runUids: string | null;
  /** What `prepareTools` made. */
  readonly toolsFolder: string;
  /** From the operator's settings. */
  readonly toolchains: readonly Toolchain[];
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: TreeLimits;
  /** Folders that the settings list as made by the build (SEC-89). */
  readonly buildOutput: readonly string[];
  /** One kind of checkout and no other; else the best that this machine allows. */
  readonly checkout?: CheckoutKind;
  /** What `seccompFilter` gives; null is left to tests of what goes without it. */
  readonly seccompFilter: Uint8Array | null;
  readonly confinement: Omit<ConfinementOptions, "isWorkBounded">;
  /** What a setup command may do; absent: it has no network, and packages run nothing of their own. */
  readonly setup?: SetupOptions;
};

/**
 * Makes a run's ephemeral checkout of `base` and the means to run commands over it. Throws RUN_UID_UNUSABLE, CONFIG_INVALID,
 * GIT_FAILED, SANDBOX_FAILED. What it made is removed when it throws and when the workspace is disposed.
 */
export async function createWorkspace(
  deps: WorkspaceDeps,
  base: BaseTree,
  options: WorkspaceOptions,
  signal: AbortSignal,
): Promise<Workspace> {
  signal.throwIfAborted();
  await using undo = new AsyncDisposableStack();
  const environment = checkedEnvironment(options.environment);
  const toolchains = checkedToolchains(options.toolchains, deps.home);
  await requireBubblewrap(deps);
  const isShared = hasProcessGroup(options.confinement.rung);
  const choice = { isShared, preferred: uidsWithTree(deps, base) };
  const runUid = await takeRunUid(deps, options.runUids, choice, signal);
  undo.defer(() => runUid.release());

  const runFolder = join(serviceFolder(deps, "work", 0o711), randomName(deps));
  const registered = { pid: null, paths: [runFolder], mounts: mountPointsOf(runFolder) };
  undo.defer(deps.registerProcess("a work folder", registered));
  undo.defer(() => removeFolder(runFolder));
  makeFolderWith(runFolder, 0o711);
  await refuseUnreachable(runFolder, runUid.owner);
  const { checkout: kind = null, confinement: wanted } = options;
  const work: TmpfsLimits = { bytes: wanted.limits.workBytes, inodes: wanted.limits.workInodes };
  const making = makeSandboxFolders(deps, runFolder, runUid.owner);
  undo.defer(() => making.then(notNeeded, notNeeded)); // nothing is made any more in a folder that is removed
  const ownPlace = { runFolder, owner: runUid.owner, work };
  const checkout = undo.use(await openCheckout(deps, base, { ...ownPlace, kind }, signal));
  const apart = { ...ownPlace, kind: checkout.kind };
  const sandbox = await making;

  const confinement = undo.use(openConfinement(deps, { ...wanted, isWorkBounded: checkout.kind !== "copy" }));
  const place = { ...sandbox, ...options, environment, toolchains, owner: runUid.owner, confinement };
  const { limits, setup = confinedSetup } = options;
  return assemble(deps, { base, checkout, apart, place, limits, setup }, options.buildOutput, undo.move());
}

const notNeeded = (): void => {};

type Parts = {
  readonly base: BaseTree;
  readonly checkout: Checkout;
  readonly apart: Parameters<typeof withFolderApart>[1];
  readonly place: SandboxPlace;
  readonly limits: TreeLimits;
  readonly setup: SetupOptions;
};

const confinedSetup: SetupOptions = { installScripts: false, network: null };

function assemble(
  deps: WorkspaceDeps,
  parts: Parts,
  buildOutput: readonly string[],
  undo: AsyncDisposableStack,
): Workspace {
  const { base, limits } = parts;
  const { folder: workFolder, root, upper, known } = parts.checkout;
  const owner = parts.place.owner;
  const lock = createAccessLock();
  const tree: OpenTree = {
    root,
    owner,
    objectFormat: objectFormatOf(base),
    fileBytesAtMost: limits.fileBytes,
    known,
  };
  let treePlace: TreePlace = {
    root,
    upper,
    base,
    isIgnored: ignoredFolders(base, buildOutput),
    setUp: nothingSetUp,
    areStampsSure: parts.checkout.kind === "copy",
    limits,
    uid: owner?.uid ?? process.geteuid?.() ?? 0,
  };
  let commandStartedAtMs = Number.MAX_SAFE_INTEGER; // none yet
  let isPoisoned = false;

  const run = async (folder: string, request: ExecRequest, signal: AbortSignal, extras?: SetupExtras) => {
    if (isPoisoned) throw poisoned(workFolder);
    const environment = checkedEnvironment({
      ...parts.place.environment,
      ...request.environment,
      ...extras?.environment,
    });
    try {
      const place = { ...parts.place, ...extras, environment, workFolder: folder };
      return await runInSandbox(deps, place, request, signal);
    } catch (error) {
      isPoisoned ||= isCountersignError(error, "WORKSPACE_POISONED");
      throw error;
    }
  };
  const runOnTree = (request: ExecRequest, signal: AbortSignal, extras?: SetupExtras) => {
    // the earliest start since the tree was last read: what is younger than that may have changed unseen
    commandStartedAtMs = Math.min(commandStartedAtMs, Date.now());
    openAgain(root);
    return run(workFolder, request, signal, extras);
  };
  const read = <T>(work: () => T | Promise<T>): Promise<T> => {
    return lock.shared(() => {
      if (isPoisoned) throw poisoned(workFolder);
      return work();
    });
  };
  const write = <T>(work: () => T | Promise<T>): Promise<T> => {
    return lock.exclusive(() => {
      if (isPoisoned) throw poisoned(workFolder);
      return work();
    });
  };

  return {
    folder: workFolder,
    base,
    searchPath: searchPathInside(parts.place.toolchains),
    checkout: parts.checkout.kind,
    resolve: (path) => read(() => walkPath(root, path)),
    readFile: (path, maxBytes) => read(() => readFileAt(tree, path, maxBytes)),
    replaceFile: (path, bytes, expectedSha256) =>
      write(() => replaceFileAt(deps, tree, path, { bytes, expectedSha256 })),
    createFile: (path, bytes) => write(() => createFileAt(deps, tree, path, bytes)),
    deleteFile: (path, expectedSha256) => write(() => deleteFileAt(tree, path, expectedSha256)),
    closeNames: (path, count) => read(() => closestPaths(path, known.paths(), count)),
    exec: (request, signal) => write(() => runOnTree(request, signal)),
    setUp: (request, signal) =>
      write(() => {
        const place = { runFolder: parts.apart.runFolder, owner, options: parts.setup };
        return setUpTree(deps, place, { request, run: (extras) => runOnTree(request, signal, extras) }, signal);
      }),
    execApart: (files, request, signal) =>
      write(() =>
        withFolderApart(deps, parts.apart, (folder) => {
          layDown(folder, files, owner);
          return run(folder, request, signal);
        }),
      ),
    takeChanges: () =>
      write(async () => {
        const reading = await readChanges(treePlace, known, commandStartedAtMs);
        if (reading.kind === "read") commandStartedAtMs = Number.MAX_SAFE_INTEGER;
        return reading;
      }),
    markSetUp: () =>
      write(async () => {
        const reading = await readSetUp(treePlace, known);
        if (reading.kind === "refused") return reading;
        treePlace = { ...treePlace, setUp: reading.setUp };
        commandStartedAtMs = Number.MAX_SAFE_INTEGER;
        return { kind: "marked", made: reading.setUp.made.size };
      }),
    fingerprint: () => read(() => known.fingerprint()),
    readBack: () => write(() => readBack(treePlace)),
    apply: (changeSet) => write(() => applyChanges(tree, changeSet)),
    [Symbol.asyncDispose]: () => lock.exclusive(() => undo.disposeAsync()),
  };
}

/** A command that closed the work folder's door was refused for it; the next one must get in to mend what it left. */
function openAgain(root: number): void {
  if ((fstatSync(root).mode & 0o700) !== 0o700) fchmodSync(root, 0o755);
}

function layDown(folder: string, files: ReadonlyMap<string, Uint8Array>, owner: Owner): void {
  const root = openRoot(folder);
  try {
    using folders = new FolderSteps(root);
    for (const [path, content] of files) {
      const place = folders.make(path, owner);
      writeNewFile(place.folder, place.name, { permissions: 0o644, content, owner, isDurable: false });
    }
  } finally {
    closeSync(root);
  }
}

const poisoned = (folder: string): CountersignError =>
  new CountersignError("WORKSPACE_POISONED", `a process may still live in \`${folder}\``);
