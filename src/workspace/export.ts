import type { Readable } from "node:stream";
import { CountersignError, type TreeEntry } from "../domain/index.ts";
import { endOfGit, startGit } from "./git.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import type { FileStamp } from "./known-files.ts";
import { FolderSteps, makeFolder } from "./tree-folders.ts";
import type { BaseTree } from "./workspace.ts";
import { writeEntry } from "./write-entry.ts";

/**
 * Writes `entries` of the base below `root`, the descriptor of a folder that has none of them: bytes as committed, no attribute,
 * no filter, no `.git` (SEC-81). Pointers of large file storage stay pointers, gitlinks become empty folders.
 */
export async function exportTree(
  deps: WorkspaceDeps,
  base: BaseTree,
  place: { readonly root: number; readonly owner: Owner; readonly entries: BaseTree["entries"] },
  signal: AbortSignal,
): Promise<Map<string, FileStamp>> {
  const stamps = new Map<string, FileStamp>();
  using folders = new FolderSteps(place.root);
  const files: [string, TreeEntry][] = [];
  for (const [path, entry] of place.entries) {
    if (entry.mode !== "160000") files.push([path, entry]);
    else {
      const { folder, name } = folders.make(path, place.owner);
      makeFolder(folder, name, place.owner);
    }
  }
  const call = { arguments: ["cat-file", "--batch", "--buffer"], gitFolder: base.mirrorFolder };
  const child = await startGit(deps, call, signal);
  const end = endOfGit(child, signal);
  child.stdin.on("error", () => {}); // its exit status says what went wrong
  child.stdin.end(files.map(([, entry]) => `${entry.blobSha}\n`).join(""));
  try {
    let next = 0;
    for await (const content of batchContents(child.stdout)) {
      const [path = "", entry] = files[next++] ?? [];
      if (entry === undefined || entry.mode === "160000")
        throw new CountersignError("GIT_FAILED", "git answered more objects than asked for");
      const { folder, name } = folders.make(path, place.owner);
      stamps.set(path, writeEntry(folder, name, { mode: entry.mode, content, owner: place.owner }));
    }
  } catch (error) {
    child.kill("SIGKILL");
    await end.catch(() => {});
    throw signal.aborted ? signal.reason : error;
  }
  const { exitCode, line } = await end;
  if (exitCode !== 0 || stamps.size !== files.length) {
    throw new CountersignError("GIT_FAILED", `git could not read the objects of \`${base.commitSha}\`: ${line}`);
  }
  return stamps;
}

/** Splits the answer of `cat-file --batch` (git-cat-file(1), BATCH OUTPUT) into the contents, in the order asked. */
async function* batchContents(stream: Readable): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let needed = 1; // how many bytes must be there before it is worth looking again
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    waiting.push(chunk);
    waitingBytes += chunk.length;
    if (waitingBytes < needed) continue;
    const bytes = waiting.length === 1 ? chunk : Buffer.concat(waiting);
    let from = 0;
    needed = 1;
    for (;;) {
      const lineEnd = bytes.indexOf(0x0a, from);
      if (lineEnd === -1) break;
      const [sha, kind, size] = bytes.toString("latin1", from, lineEnd).split(" ");
      if (kind !== "blob") throw new CountersignError("GIT_FAILED", `the mirror lacks the object \`${sha}\``);
      const end = lineEnd + 1 + Number(size);
      if (bytes.length <= end) {
        needed = end + 1 - from;
        break;
      }
      yield bytes.subarray(lineEnd + 1, end);
      from = end + 1;
    }
    waiting = from < bytes.length ? [bytes.subarray(from)] : [];
    waitingBytes = bytes.length - from;
  }
}
