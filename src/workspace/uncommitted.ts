import { lstat, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { blobShaOf } from "./base-tree.ts";
import type { GitAnswer } from "./git.ts";
import { nameOfBytes } from "./path-bytes.ts";

/** Asks a repository of the user's own. Reads only; nothing that the repository configures is run. */
export type AskSource = (commands: readonly string[]) => Promise<GitAnswer>;

/**
 * Paths whose state is in no commit: staged, changed, deleted or new. `git status` is not asked, since it runs the clean
 * filters that the repository configures; so a file that only a filter makes equal is named too. The index is not written.
 */
export async function listUncommitted(ask: AskSource, folder: string, gitFolder: string): Promise<readonly string[]> {
  const names = async (commands: readonly string[]): Promise<string[]> => {
    const answer = await ask(commands);
    return answer.kind === "done" ? splitNames(answer.stdout) : [];
  };
  const staged = names(["diff-index", "--cached", "--name-only", "--no-renames", "-z", "--end-of-options", "HEAD"]);
  const untracked = names(["ls-files", "--others", "--exclude-standard", "-z"]);
  const index = await ask(["ls-files", "--stage", "--debug", "-z"]);
  const indexedAt = await stat(join(gitFolder, "index")).then(
    (facts) => facts.mtimeMs,
    () => 0,
  );
  const changed: string[] = [];
  for (const entry of index.kind === "done" ? parseIndex(index.stdout) : []) {
    if (await isChanged(folder, entry, indexedAt)) changed.push(entry.path);
  }
  return [...new Set([...(await staged), ...changed, ...(await untracked)])].sort();
}

const splitNames = (bytes: Buffer): string[] =>
  nameOfBytes(bytes)
    .split("\0")
    .filter((name) => name !== "");

type IndexEntry = {
  readonly path: string;
  readonly mode: string;
  readonly blobSha: string;
  readonly modifiedAt: string;
  readonly sizeBytes: number;
};

/** git-ls-files(1), `--debug`: a name, a NUL, then five lines on what the index knows of the file. */
const indexForm =
  /(\d{6}) ([0-9a-f]+) \d\t([^\0]*)\0 {2}ctime: .*\n {2}mtime: (\d+:\d+)\n.*\n.*\n {2}size: (\d+)\tflags: ([0-9a-f]+)\n/g;
const skipWorktree = 0x40000000;

function parseIndex(bytes: Buffer): IndexEntry[] {
  return Array.from(
    nameOfBytes(bytes).matchAll(indexForm),
    ([, mode = "", blobSha = "", path = "", at = "", size, flags]) => ({
      entry: { path, mode, blobSha, modifiedAt: at, sizeBytes: Number(size) },
      isElsewhere: (Number.parseInt(flags ?? "0", 16) & skipWorktree) !== 0 || mode === "160000",
    }),
  ).flatMap(({ entry, isElsewhere }) => (isElsewhere ? [] : entry));
}

async function isChanged(folder: string, entry: IndexEntry, indexedAt: number): Promise<boolean> {
  const path = join(folder, entry.path);
  const facts = await lstat(path, { bigint: true }).catch(() => null);
  if (facts === null) return true;
  if (facts.isSymbolicLink() !== (entry.mode === "120000") || !(facts.isFile() || facts.isSymbolicLink())) return true;
  if (facts.isFile() && ((facts.mode & 0o100n) !== 0n) !== (entry.mode === "100755")) return true;
  const modifiedAt = `${facts.mtimeNs / 1_000_000_000n}:${facts.mtimeNs % 1_000_000_000n}`;
  const isAsIndexed = modifiedAt === entry.modifiedAt && Number(facts.size) === entry.sizeBytes;
  // git's racy rule: what was touched as late as the index was written may have changed without a trace
  if (isAsIndexed && Number(facts.mtimeMs) < Math.floor(indexedAt)) return false;
  const content = await (facts.isFile() ? readFile(path) : readlink(path, { encoding: "buffer" })).catch(() => null);
  return content === null || blobShaOf(content, entry.blobSha.length === 64 ? "sha256" : "sha1") !== entry.blobSha;
}
