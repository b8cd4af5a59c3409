import { hash } from "node:crypto";

/**
 * The Merkle tree of RFC 6962 section 2.1, over hashes only. A subtree of 2^n leaves that is complete never changes again:
 * its root is stored once, at (level n, position p) for the leaves from p * 2^n on, so that no proof scans the log.
 */
export type NodePlace = { readonly level: number; readonly position: number };
export type TreeNode = NodePlace & { readonly hash: Uint8Array };

/** A tree of `size` leaves by the roots of its complete subtrees, largest first: one for each 1 in the binary of `size`. */
export type Frontier = { readonly size: number; readonly roots: readonly Uint8Array[] };

/** Answers with the hashes of complete subtrees, in the order asked; level 0 are the leaf hashes. */
export type ReadNodes = (places: readonly NodePlace[]) => Promise<readonly Uint8Array[]>;

export const emptyTree: Frontier = { size: 0, roots: [] };

const hashSizeBytes = 32;

/** SHA-256(0x00 ‖ body): the first byte keeps a leaf from being taken for a node. */
export function leafHash(body: Uint8Array): Uint8Array {
  const input = Buffer.allocUnsafe(body.byteLength + 1);
  input[0] = 0x00;
  input.set(body, 1);
  return hash("sha256", input, "buffer");
}

/** SHA-256(0x01 ‖ left ‖ right). */
function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const input = Buffer.allocUnsafe(1 + 2 * hashSizeBytes);
  input[0] = 0x01;
  input.set(left, 1);
  input.set(right, 1 + hashSizeBytes);
  return hash("sha256", input, "buffer");
}

/** The tree with these leaves added, and the subtrees of level 1 and up that they completed, to be stored. */
export function appendLeaves(
  tree: Frontier,
  leaves: readonly Uint8Array[],
): { readonly tree: Frontier; readonly nodes: readonly TreeNode[] } {
  const roots = [...tree.roots];
  const nodes: TreeNode[] = [];
  let size = tree.size;
  for (const leaf of leaves) {
    size += 1;
    let root = leaf;
    for (let level = 1; size % 2 ** level === 0; level += 1) {
      root = nodeHash(roots.pop() ?? root, root);
      nodes.push({ level, position: size / 2 ** level - 1, hash: root });
    }
    roots.push(root);
  }
  return { tree: { size, roots }, nodes };
}

/** The root hash: SHA-256 of nothing for the empty tree. */
export function rootOf(tree: Frontier): Uint8Array {
  return tree.roots.length === 0 ? hash("sha256", "", "buffer") : fold(tree.roots);
}

/** Roots of neighbouring subtrees, largest first, to the root over all of them. */
function fold(roots: readonly Uint8Array[]): Uint8Array {
  return roots.reduceRight((right, left) => nodeHash(left, right));
}

/** The complete subtrees that make up the leaves from `start` to before `end`, as they lie in a larger tree. */
function subtreesOf(start: number, end: number): NodePlace[] {
  const places: NodePlace[] = [];
  for (let at = start; at < end; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1;
    places.push({ level, position: at / 2 ** level });
    at += 2 ** level;
  }
  return places;
}

type Range = readonly [start: number, end: number];

/** The largest power of two below `size`: where RFC 6962 splits a tree. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

async function hashesOf(ranges: readonly Range[], readNodes: ReadNodes): Promise<Uint8Array[]> {
  const parts = ranges.map(([start, end]) => subtreesOf(start, end));
  const hashes = await readNodes(parts.flat());
  let at = 0;
  return parts.map((places) => {
    const roots = hashes.slice(at, at + places.length);
    at += places.length;
    return fold(roots);
  });
}

/** Audit path of leaf `index` in the tree of `size` leaves (RFC 6962 section 2.1.1), from the leaf upwards. */
export function inclusionProof(index: number, size: number, readNodes: ReadNodes): Promise<Uint8Array[]> {
  if (index < 0 || index >= size) throw new Error(`no leaf ${index} in a tree of ${size}`);
  const ranges: Range[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      ranges.unshift([middle, end]);
      end = middle;
    } else {
      ranges.unshift([start, middle]);
      start = middle;
    }
  }
  return hashesOf(ranges, readNodes);
}

/** Proof that the tree of `size` extends the one of `oldSize` (RFC 6962 section 2.1.2). */
export function consistencyProof(oldSize: number, size: number, readNodes: ReadNodes): Promise<Uint8Array[]> {
  if (oldSize < 0 || oldSize > size) throw new Error(`no tree of ${oldSize} in a tree of ${size}`);
  if (oldSize === 0 || oldSize === size) return Promise.resolve([]);
  const ranges: Range[] = [];
  let [start, end] = [0, size];
  while (oldSize !== end) {
    const middle = start + splitOf(end - start);
    if (oldSize <= middle) {
      ranges.unshift([middle, end]);
      end = middle;
    } else {
      ranges.unshift([start, middle]);
      start = middle;
    }
  }
  // The old tree's own last part is left out where it is the whole old tree: the verifier has its root.
  return hashesOf(start === 0 ? ranges : [[start, end], ...ranges], readNodes);
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

/**
 * Walks up from a place, one sibling a level where there is one (RFC 9162 section 2.1.3.2, steps 3 to 5). False where the
 * proof is longer or shorter than the way to the root.
 */
function climb(
  from: { readonly place: number; readonly last: number },
  proof: readonly Uint8Array[],
  join: (sibling: Uint8Array, isLeft: boolean) => void,
): boolean {
  let { place, last } = from;
  for (const sibling of proof) {
    if (last === 0 || sibling.byteLength !== hashSizeBytes) return false;
    const isLeft = place % 2 === 1 || place === last;
    join(sibling, isLeft);
    while (isLeft && place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0;
}

/** A tree as others know it: the root hash at a size. */
export type TreeHead = { readonly size: number; readonly rootHash: Uint8Array };

/** Whether the proof leads from the leaf's hash to the root (RFC 9162 section 2.1.3.2). */
export function verifyInclusion(
  leaf: { readonly hash: Uint8Array; readonly index: number },
  tree: TreeHead,
  proof: readonly Uint8Array[],
): boolean {
  if (leaf.index < 0 || leaf.index >= tree.size) return false;
  let root = leaf.hash;
  const isWhole = climb({ place: leaf.index, last: tree.size - 1 }, proof, (sibling, isLeft) => {
    root = isLeft ? nodeHash(sibling, root) : nodeHash(root, sibling);
  });
  return isWhole && isSame(root, tree.rootHash);
}

/** Whether the proof shows that the larger tree begins with the smaller one (RFC 9162 section 2.1.4.2). */
export function verifyConsistency(old: TreeHead, tree: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (old.size > tree.size) return false;
  if (old.size === tree.size) return proof.length === 0 && isSame(old.rootHash, tree.rootHash);
  if (old.size === 0) return proof.length === 0 && isSame(old.rootHash, rootOf(emptyTree));
  const path = Number.isInteger(Math.log2(old.size)) ? [old.rootHash, ...proof] : proof;
  const [first, ...siblings] = path;
  if (first === undefined || first.byteLength !== hashSizeBytes) return false;
  let [place, last] = [old.size - 1, tree.size - 1];
  while (place % 2 === 1) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  let [oldRoot, root] = [first, first];
  const isWhole = climb({ place, last }, siblings, (sibling, isLeft) => {
    if (isLeft) oldRoot = nodeHash(sibling, oldRoot);
    root = isLeft ? nodeHash(sibling, root) : nodeHash(root, sibling);
  });
  return isWhole && isSame(oldRoot, old.rootHash) && isSame(root, tree.rootHash);
}
