import type { BaseTree } from "./workspace.ts";

/** Entries of all bases together: some 30 MB. The base used last is kept whatever its size. */
const entriesAtMost = 100_000;

const kept = new Map<string, BaseTree>();

/**
 * A base that this process has opened before, else what `open` gives. What a commit holds never changes, so that a second run on it
 * need not list it again. `key` names the mirror, the commit and the limits that it was measured by.
 */
export async function keptBase(key: string, open: () => Promise<BaseTree>): Promise<BaseTree> {
  const base = kept.get(key) ?? (await open());
  kept.delete(key); // so that it becomes the last
  kept.set(key, base);
  let entries = 0;
  for (const [other, { entries: its }] of Array.from(kept).reverse()) {
    entries += its.size;
    if (entries > entriesAtMost && other !== key) kept.delete(other);
  }
  return base;
}
