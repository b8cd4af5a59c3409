import { once } from "node:events";
import { readFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { BlobFile } from "./blob-batch.ts";
import { blobCommand, type ExportPlace, exportFailed, exportTree, makeGitlinks } from "./export.ts";
import type { ExportPart, ExportReport } from "./export-thread.ts";
import type { WorkspaceDeps } from "./host.ts";
import { FolderSteps } from "./tree-folders.ts";
import type { BaseTree } from "./workspace.ts";

/** With fewer, threads cost more processor time at their start than they save (half a second for two). */
const filesOfAThread = 10_000;

const threadsFor = (files: number): number => Math.min(availableParallelism(), Math.floor(files / filesOfAThread));

/**
 * Writes what `exportTree` writes, into a tree that only the service can reach until it is done: by several threads where it is large,
 * and without a look at what was written.
 */
export async function fillTree(
  deps: WorkspaceDeps,
  base: BaseTree,
  { threads, ...place }: ExportPlace & { readonly threads?: number },
  signal: AbortSignal,
): Promise<void> {
  const count = threads ?? threadsFor(place.entries.size);
  if (count < 2) return void (await exportTree(deps, base, place, signal));
  signal.throwIfAborted();
  const { root, owner } = place;
  const files = makeAllFolders(place);
  const same = { command: await blobCommand(deps, base), root, owner, umask: readUmask() };
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const ended = await Promise.allSettled(
    inParts(files, count).map(async (part) => {
      try {
        const { cause } = await runThread({ ...same, files: part }, stop);
        if (cause !== null) throw exportFailed(base, cause);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }),
  );
  signal.throwIfAborted();
  if (ended.some(({ status }) => status === "rejected")) throw failed.signal.reason;
}

/** Two threads must not make the same folder. */
function makeAllFolders({ root, owner, entries }: ExportPlace): readonly BlobFile[] {
  using folders = new FolderSteps(root);
  const files = makeGitlinks(folders, entries, owner);
  for (const { path } of files) folders.make(path, owner);
  return files;
}

/** Neighbours stay together: each thread opens most folders alone. */
function inParts<T>(items: readonly T[], count: number): readonly (readonly T[])[] {
  const size = Math.ceil(items.length / count);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}

/** proc_pid_status(5). `process.umask()` could only tell by changing it for a moment. */
function readUmask(): number {
  const umask = /^Umask:\s*([0-7]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1];
  return Number.parseInt(umask ?? "777", 8);
}

/** Returns once the thread and its git have ended. */
async function runThread(part: ExportPart, signal: AbortSignal): Promise<ExportReport> {
  const workerData = { ...part, compileCache: getCompileCacheDir() ?? null };
  const thread = new Worker(new URL("./export-thread-start.mjs", import.meta.url), { workerData, execArgv: [] });
  const stop = (): void => thread.postMessage("stop");
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    let report: ExportReport = { cause: "a thread of the export ended early" };
    thread.on("message", (told: ExportReport) => {
      report = told;
    });
    await once(thread, "exit"); // throws what the thread threw
    return report;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
