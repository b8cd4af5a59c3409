import { hash } from "node:crypto";
import { appendLeaves, emptyTree, leafHash } from "../../ledger/index.ts";
import { alternate, perCall } from "../alternate.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly entries: number }>> = {
  short: { rounds: 1, entries: 1_000 },
  bench: { rounds: 15, entries: 100_000 },
  soak: { rounds: 15, entries: 1_000_000 },
};

/** RFC 6962 section 2.1: one prefix byte before a leaf's body, and before two hashes of 32 bytes. */
const leafBody = Buffer.alloc(256, "entry");
const leafInput = Buffer.concat([Buffer.alloc(1), leafBody]);
const nodeInput = Buffer.alloc(65, 1);

/** `performance.md` §5: adding to the tree costs little more than the hashes that it is made of. */
export const merkleRow: Row = {
  name: "merkle",
  title: "adding a leaf to the tree beside the hashes that it needs",
  measure: async (_place, size, signal) => {
    const { rounds, entries } = sizes[size];
    const measured = await alternate(
      { hashes: () => rawHashes(entries), append: () => appends(entries) },
      rounds,
      signal,
    );
    return [
      figure("raw hashes of one entry", "us", measured.hashes),
      figure("append of one entry", "us", measured.append),
      ratio("append / raw hashes", measured.append, measured.hashes, atMost(1.3)),
    ];
  },
};

/** A leaf's hash, and a node's for each subtree that the leaf completes: one a leaf, less the ones still open. */
function rawHashes(entries: number): number {
  return perCall(entries, (entry) => {
    hash("sha256", leafInput, "buffer");
    for (let size = entry + 1; size % 2 === 0; size /= 2) hash("sha256", nodeInput, "buffer");
  });
}

function appends(entries: number): number {
  let tree = emptyTree;
  return perCall(entries, () => {
    tree = appendLeaves(tree, [leafHash(leafBody)]).tree;
  });
}
