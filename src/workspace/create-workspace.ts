import { closeSync } from "node:fs";
import { join } from "node:path";
import { CountersignError, isCountersignError } from "../domain/index.ts";
import { createAccessLock } from "./access-lock.ts";
import { applyChanges } from "./apply-changes.ts";
import { objectFormatOf } from "./base-tree.ts";
import { closestPaths } from "./close-names.ts";
import { type ConfinementOptions, openConfinement } from "./confinement.ts";
import { walkPath } from "./descriptor-walk.ts";
import { exportTree } from "./export.ts";
import { createFileAt, deleteFileAt, type OpenTree, readFileAt, replaceFileAt } from "./files.ts";
import { type Owner, randomName, type WorkspaceDeps } from "./host.ts";
import { ignoredFolders } from "./ignored-folders.ts";
import type { KnownFile } from "./known-files.ts";
import { makeWorkFolder } from "./make-work-folder.ts";
import { checkedEnvironment, checkedToolchains } from "./operator-inputs.ts";
import { removeFolder } from "./remove-folder.ts";
import { requireBubblewrap } from "./require-bubblewrap.ts";
import { takeRunUid } from "./run-uids.ts";
import { hasProcessGroup } from "./rung.ts";
import { runInSandbox } from "./sandbox.ts";
import { searchPathInside, type Toolchain } from "./sandbox-flags.ts";
import { makeFolderWith, makeSandboxFolders, type SandboxPlace } from "./sandbox-place.ts";
import { refuseUnreachable, serviceFolder } from "./service-folder.ts";
import { FolderSteps, openRoot } from "./tree-folders.ts";
import type { TreeLimits } from "./tree-limits.ts";
import { fingerprintOf, readBack, readChanges } from "./tree-reading.ts";
import type { TreePlace } from "./tree-walk.ts";
import type { BaseTree, ExecRequest, Workspace } from "./workspace.ts";
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
  /** What `seccompFilter` gives; null is left to tests of what goes without it. */
  readonly seccompFilter: Uint8Array | null;
  readonly confinement: Omit<ConfinementOptions, "isWorkBounded">;
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
  const runUid = await takeRunUid(deps, options.runUids, { isShared }, signal);
  undo.defer(() => runUid.release());

  const runFolder = join(await serviceFolder(deps, "work", 0o711), randomName(deps));
  undo.defer(deps.registerProcess("a work folder", { pid: null, paths: [runFolder], mounts: [] }));
  undo.defer(() => removeFolder(runFolder));
  makeFolderWith(runFolder, 0o711);
  await refuseUnreachable(runFolder, runUid.owner);
  const sandbox = await makeSandboxFolders(deps, runFolder, runUid.owner);
  const workFolder = makeWorkFolder(join(runFolder, "tree"), runUid.owner);
  const root = openRoot(workFolder);
  undo.defer(() => closeSync(root));

  const known = await exportTree(deps, base, { root, owner: runUid.owner }, signal);
  const confinement = undo.use(openConfinement(deps, { ...options.confinement, isWorkBounded: false }));
  const place = { ...sandbox, ...options, environment, toolchains, owner: runUid.owner, confinement };
  const parts = { base, runFolder, workFolder, root, known, place, limits: options.limits };
  return assemble(deps, parts, options.buildOutput, undo.move());
}

type Parts = {
  readonly base: BaseTree;
  readonly runFolder: string;
  readonly workFolder: string;
  readonly root: number;
  readonly known: Map<string, KnownFile>;
  readonly place: SandboxPlace;
  readonly limits: TreeLimits;
};

function assemble(
  deps: WorkspaceDeps,
  parts: Parts,
  buildOutput: readonly string[],
  undo: AsyncDisposableStack,
): Workspace {
  const { base, root, workFolder, limits } = parts;
  const owner = parts.place.owner;
  const lock = createAccessLock();
  const tree: OpenTree = {
    root,
    owner,
    objectFormat: objectFormatOf(base),
    fileBytesAtMost: limits.fileBytes,
    known: parts.known,
  };
  const treePlace: TreePlace = {
    root,
    base,
    ...ignoredFolders(base.entries, buildOutput),
    limits,
    uid: owner?.uid ?? process.geteuid?.() ?? 0,
  };
  let commandStartedAtMs = Number.MAX_SAFE_INTEGER; // none yet
  let isPoisoned = false;

  const run = async (folder: string, request: ExecRequest, signal: AbortSignal) => {
    if (isPoisoned) throw poisoned(workFolder);
    const environment = checkedEnvironment({ ...parts.place.environment, ...request.environment });
    try {
      return await runInSandbox(deps, { ...parts.place, environment, workFolder: folder }, request, signal);
    } catch (error) {
      isPoisoned ||= isCountersignError(error, "WORKSPACE_POISONED");
      throw error;
    }
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
    resolve: (path) => read(() => walkPath(root, path)),
    readFile: (path, maxBytes) => read(() => readFileAt(tree, path, maxBytes)),
    replaceFile: (path, bytes, expectedSha256) =>
      write(() => replaceFileAt(deps, tree, path, { bytes, expectedSha256 })),
    createFile: (path, bytes) => write(() => createFileAt(deps, tree, path, bytes)),
    deleteFile: (path, expectedSha256) => write(() => deleteFileAt(tree, path, expectedSha256)),
    closeNames: (path, count) => read(() => closestPaths(path, tree.known.keys(), count)),
    exec: (request, signal) =>
      write(() => {
        // the earliest start since the tree was last read: what is younger than that may have changed unseen
        commandStartedAtMs = Math.min(commandStartedAtMs, Date.now());
        return run(workFolder, request, signal);
      }),
    execApart: (files, request, signal) =>
      write(async () => {
        const folder = makeWorkFolder(join(parts.runFolder, "apart"), owner);
        try {
          layDown(folder, files, owner);
          return await run(folder, request, signal);
        } finally {
          await removeFolder(folder);
        }
      }),
    takeChanges: () =>
      write(async () => {
        const { walked, reading } = await readChanges(treePlace, tree.known, commandStartedAtMs);
        if (reading.kind === "refused") return reading;
        tree.known.clear();
        for (const [path, file] of walked.files) tree.known.set(path, file);
        commandStartedAtMs = Number.MAX_SAFE_INTEGER;
        return reading;
      }),
    fingerprint: () => read(() => fingerprintOf(tree.known)),
    readBack: () => write(() => readBack(treePlace)),
    apply: (changeSet) => write(() => applyChanges(tree, changeSet)),
    [Symbol.asyncDispose]: () => lock.exclusive(() => undo.disposeAsync()),
  };
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
