import { createHash } from "node:crypto";
import type { ChangeSet, FileChange, TreeEntry } from "../domain/index.ts";
import type { KnownFile } from "./known-files.ts";
import { type TreePlace, type WalkedTree, walkTree } from "./tree-walk.ts";
import type { TreeReading } from "./workspace.ts";

const byPath = (a: { readonly path: string }, b: { readonly path: string }): number => (a.path < b.path ? -1 : 1);

/** The whole tree against the base, every byte hashed (SEC-85 to SEC-90). The caller sees to it that nothing lives in it. */
export async function readBack(place: TreePlace): Promise<TreeReading> {
  const walked = await walkTree(place, {
    entry: (path) => place.base.entries.get(path),
    known: () => undefined,
    commandStartedAtMs: 0,
  });
  const before = [...place.base.entries].filter(([, { mode }]) => mode !== "160000");
  return reading(walked, new Map(before));
}

/** As `readBack`, against the tree as last known, reading only files that may have changed since (git's racy rule). */
export async function readChanges(
  place: TreePlace,
  known: ReadonlyMap<string, KnownFile>,
  commandStartedAtMs: number,
): Promise<{ readonly walked: WalkedTree; readonly reading: TreeReading }> {
  const walked = await walkTree(place, {
    entry: (path) => known.get(path)?.entry,
    known: (path) => known.get(path),
    commandStartedAtMs,
  });
  const before = new Map(Array.from(known, ([path, { entry }]) => [path, entry]));
  return { walked, reading: reading(walked, before) };
}

function reading(walked: WalkedTree, before: ReadonlyMap<string, TreeEntry>): TreeReading {
  if (walked.causes.length > 0) return { kind: "refused", causes: walked.causes };
  return { kind: "read", changeSet: differences(walked, before), fingerprint: fingerprintOf(walked.files) };
}

function differences(walked: WalkedTree, before: ReadonlyMap<string, TreeEntry>): ChangeSet {
  const changes: FileChange[] = [];
  for (const [path, content] of walked.contents) {
    const entry = walked.files.get(path)?.entry;
    if (entry === undefined || entry.mode === "160000") continue;
    const after = { mode: entry.mode, blobSha: entry.blobSha, content };
    changes.push({ path, before: before.get(path) ?? null, after });
  }
  for (const [path, entry] of before) {
    if (!walked.files.has(path)) changes.push({ path, before: entry, after: null });
  }
  return { changes: changes.sort(byPath) };
}

/** SHA-256 over path, mode and blob id of every file, in code unit order of the paths. */
export function fingerprintOf(files: ReadonlyMap<string, KnownFile>): string {
  const lines = Array.from(files, ([path, { entry }]) => ({ path, text: `${path}\0${entry.mode} ${entry.blobSha}\n` }));
  const hash = createHash("sha256");
  hash.update(
    lines
      .sort(byPath)
      .map(({ text }) => text)
      .join(""),
  );
  return hash.digest("hex");
}
