import { createHash } from "node:crypto";
import { CountersignError, type FileMode, type TreeEntry } from "../domain/index.ts";
import { runGit, startGit } from "./git.ts";
import { endOfGit } from "./git-process.ts";
import type { WorkspaceDeps } from "./host.ts";
import { nameOfBytes } from "./path-bytes.ts";
import { refuseLargeTree, type TreeLimits, TreeMeasure } from "./tree-limits.ts";
import type { BaseTree } from "./workspace.ts";

const modes = new Set<string>(["100644", "100755", "120000", "160000"]);

/** Reads `ls-tree -r -l -z` of a commit and measures it while reading (SEC-80). */
export async function listTree(
  deps: WorkspaceDeps,
  place: { readonly gitFolder: string; readonly commitSha: string },
  limits: TreeLimits,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TreeEntry>> {
  const call = ["ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", place.commitSha];
  const child = await startGit(deps, { arguments: call, gitFolder: place.gitFolder }, signal);
  const end = endOfGit(child, signal);
  const entries = new Map<string, TreeEntry>();
  const measure = new TreeMeasure(limits);
  child.stdin.end();
  try {
    for await (const line of splitAtNul(child.stdout)) {
      const tab = line.indexOf(0x09);
      const [mode = "", , blobSha = "", size = "0"] = line.toString("latin1", 0, tab).split(/ +/);
      if (!modes.has(mode)) continue; // 100664 and other modes that git itself no longer writes
      const sizeBytes = size === "-" ? 0 : Number(size);
      const path = line.subarray(tab + 1);
      const passed = measure.add(path, sizeBytes);
      if (passed !== null) refuseLargeTree(passed);
      entries.set(nameOfBytes(path), { mode: mode as FileMode, blobSha, sizeBytes });
    }
  } catch (error) {
    child.kill("SIGKILL");
    await end.catch(() => {});
    throw error;
  }
  const { exitCode, line } = await end;
  if (exitCode !== 0) throw new CountersignError("GIT_FAILED", `git could not list \`${place.commitSha}\`: ${line}`);
  return entries;
}

async function* splitAtNul(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let at = bytes.indexOf(0, from); at !== -1; at = bytes.indexOf(0, from)) {
      yield bytes.subarray(from, at);
      from = at + 1;
    }
    rest = bytes.subarray(from);
  }
}

/** The bytes of a file of the base (of a link: its text), or null where the base has none at `path`. */
export async function readBaseFile(
  deps: WorkspaceDeps,
  base: BaseTree,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const entry = base.entries.get(path);
  if (entry === undefined || entry.mode === "160000") return null;
  const call = { arguments: ["cat-file", "blob", entry.blobSha], gitFolder: base.mirrorFolder };
  return await runGit(deps, { ...call, purpose: `read \`${path}\` of the base` }, signal);
}

/** Git's name of a blob: SHA-1, or SHA-256 in repositories of that format (gitrepository-layout, gitformat-index). */
export function blobShaOf(content: Uint8Array, format: "sha1" | "sha256"): string {
  return createHash(format).update(`blob ${content.length}\0`).update(content).digest("hex");
}

export const objectFormatOf = (base: Pick<BaseTree, "commitSha">): "sha1" | "sha256" =>
  base.commitSha.length === 64 ? "sha256" : "sha1";
