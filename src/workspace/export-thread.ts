import { parentPort, workerData } from "node:worker_threads";
import { type BlobFile, readBlobs } from "./blob-batch.ts";
import type { GitCommand } from "./git-process.ts";
import type { Owner } from "./host.ts";
import { FolderSteps } from "./tree-folders.ts";
import { writeFreshEntry } from "./write-entry.ts";

/** What one thread of `fillTree` does. It starts in milliseconds only as long as this file loads little: no room's `index.ts`. */
export type ExportPart = {
  readonly command: GitCommand;
  /** The tree's descriptor, which is the process's and so the thread's too; all folders are there. */
  readonly root: number;
  readonly owner: Owner;
  /** Of the process; a thread can't ask. */
  readonly umask: number;
  readonly files: readonly BlobFile[];
};

/** What git could not, or null. The only word of a thread; what it throws reaches its `error` event. */
export type ExportReport = { readonly cause: string | null };

const { command, root, owner, umask, files } = workerData as ExportPart;
const stop = new AbortController();
parentPort?.once("message", () => stop.abort());
parentPort?.unref();

using folders = new FolderSteps(root);
const write = ({ path, mode }: BlobFile, content: Buffer): void => {
  const { folder, name } = folders.make(path, owner);
  writeFreshEntry(folder, name, { mode, content, owner, umask });
};
const report: ExportReport = { cause: await readBlobs(command, files, write, stop.signal) };
parentPort?.postMessage(report);
