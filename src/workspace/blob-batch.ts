import type { Readable } from "node:stream";
import type { FileMode } from "../domain/index.ts";
import { endOfGit, type GitCommand, startCommand } from "./git-process.ts";

/** A file or link of a tree, and git's name of its bytes. */
export type BlobFile = { readonly path: string; readonly mode: FileMode; readonly blobSha: string };

type WriteFile = (file: BlobFile, content: Buffer) => void;

/**
 * Has `command`, a `cat-file --batch`, read the files' bytes and hands them to `write`, in the order of the files; they are good until it
 * returns. Answers what git could not, or null. Throws what `write` throws, and the signal's reason.
 */
export async function readBlobs(
  command: GitCommand,
  files: readonly BlobFile[],
  write: WriteFile,
  signal: AbortSignal,
): Promise<string | null> {
  const child = startCommand(command, signal);
  const end = endOfGit(child, signal);
  child.stdin.on("error", () => {}); // its exit status says what went wrong
  child.stdin.end(files.map(({ blobSha }) => `${blobSha}\n`).join(""));
  let cause: string | null;
  try {
    cause = await readAnswer(child.stdout, files, write);
  } catch (error) {
    child.kill("SIGKILL");
    await end.catch(() => {});
    throw signal.aborted ? signal.reason : error;
  }
  const { exitCode, line } = await end;
  if (exitCode === 0) return cause;
  return exitCode === null ? (cause ?? line) : line; // not read to its end, it is stopped by a signal
}

async function readAnswer(answer: Readable, files: readonly BlobFile[], write: WriteFile): Promise<string | null> {
  let next = 0;
  for await (const objects of objectsOf(answer)) {
    for (const { sha, content } of objects) {
      const file = files[next++];
      if (file === undefined) return "it answered more objects than asked for";
      if (content === null) return `the mirror lacks the object \`${sha}\``;
      write(file, content);
    }
  }
  return next === files.length ? null : `it answered ${next} of ${files.length} objects`;
}

/** `content` is null of what is no blob. */
type BatchObject = { readonly sha: string; readonly content: Buffer | null };

/** Splits what comes (git-cat-file(1), BATCH OUTPUT) into objects: all that are whole, as soon as they are. */
async function* objectsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<readonly BatchObject[]> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let needed = 1; // how many bytes must be there before it is worth looking again
  for await (const chunk of stream) {
    waiting.push(chunk);
    waitingBytes += chunk.length;
    if (waitingBytes < needed) continue;
    const bytes = waiting.length === 1 ? chunk : Buffer.concat(waiting);
    const whole = wholeObjects(bytes);
    yield whole.objects;
    needed = whole.needed;
    waiting = whole.until < bytes.length ? [bytes.subarray(whole.until)] : [];
    waitingBytes = bytes.length - whole.until;
  }
}

function wholeObjects(bytes: Buffer): {
  readonly objects: readonly BatchObject[];
  readonly until: number;
  readonly needed: number;
} {
  const objects: BatchObject[] = [];
  for (let from = 0; ; ) {
    const lineEnd = bytes.indexOf(0x0a, from);
    if (lineEnd === -1) return { objects, until: from, needed: 1 };
    const [sha = "", kind, size] = bytes.toString("latin1", from, lineEnd).split(" ");
    if (kind !== "blob") return { objects: [...objects, { sha, content: null }], until: bytes.length, needed: 1 };
    const end = lineEnd + 1 + Number(size);
    if (bytes.length <= end) return { objects, until: from, needed: end + 1 - from };
    objects.push({ sha, content: bytes.subarray(lineEnd + 1, end) });
    from = end + 1;
  }
}
