import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendLeaves,
  consistencyProof,
  emptyTree,
  inclusionProof,
  leafHash,
  type ReadNodes,
  rootOf,
  verifyConsistency,
  verifyInclusion,
} from "../../src/ledger/merkle.ts";

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hashing = createHash("sha256");
  for (const part of parts) hashing.update(part);
  return hashing.digest();
};
const zero = Buffer.of(0);
const one = Buffer.of(1);
const splitOf = (count: number): number => 2 ** (Math.ceil(Math.log2(count)) - 1);

/** RFC 6962 section 2.1, word for word, without a thought for speed. */
function naiveRoot(bodies: readonly Uint8Array[]): Buffer {
  const [first] = bodies;
  if (first === undefined) return sha256();
  if (bodies.length === 1) return sha256(zero, first);
  const split = splitOf(bodies.length);
  return sha256(one, naiveRoot(bodies.slice(0, split)), naiveRoot(bodies.slice(split)));
}

function naivePath(index: number, bodies: readonly Uint8Array[]): Buffer[] {
  if (bodies.length <= 1) return [];
  const split = splitOf(bodies.length);
  return index < split
    ? [...naivePath(index, bodies.slice(0, split)), naiveRoot(bodies.slice(split))]
    : [...naivePath(index - split, bodies.slice(split)), naiveRoot(bodies.slice(0, split))];
}

function naiveConsistency(oldSize: number, bodies: readonly Uint8Array[], isWhole = true): Buffer[] {
  if (oldSize === bodies.length) return isWhole ? [] : [naiveRoot(bodies)];
  const split = splitOf(bodies.length);
  return oldSize <= split
    ? [...naiveConsistency(oldSize, bodies.slice(0, split), isWhole), naiveRoot(bodies.slice(split))]
    : [...naiveConsistency(oldSize - split, bodies.slice(split), false), naiveRoot(bodies.slice(0, split))];
}

const bodiesOf = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => Buffer.from(`entry ${index}`));

/** A tree built in the given steps, with the nodes that were to be stored, and a count of what proofs read. */
function build(bodies: readonly Uint8Array[], steps: readonly number[]) {
  const stored = new Map(bodies.map((body, index) => [`0/${index}`, leafHash(body)]));
  let tree = emptyTree;
  for (let at = 0, step = 0; at < bodies.length; step += 1) {
    const next = bodies.slice(at, at + (steps[step] ?? 1));
    const appended = appendLeaves(tree, next.map(leafHash));
    for (const node of appended.nodes) stored.set(`${node.level}/${node.position}`, node.hash);
    tree = appended.tree;
    at += next.length;
  }
  const reads = { count: 0 };
  const readNodes: ReadNodes = (places) => {
    reads.count += places.length;
    return Promise.resolve(places.map(({ level, position }) => stored.get(`${level}/${position}`) ?? Buffer.alloc(0)));
  };
  return { tree, stored, readNodes, reads };
}

const hexOf = (hashes: readonly Uint8Array[]): string[] => hashes.map((hashed) => Buffer.from(hashed).toString("hex"));
const anySize = fc.integer({ min: 0, max: 130 });
const anySteps = fc.array(fc.integer({ min: 1, max: 9 }));

describe("the Merkle tree", () => {
  it("has the roots of RFC 6962's own test data", () => {
    // Known from the certificate transparency project's merkle_tree_test: 8 inputs, roots at sizes 1 to 8.
    const inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    const roots = [
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    const found = inputs.map((_, index) => {
      const bodies = inputs.slice(0, index + 1).map((text) => Buffer.from(text, "hex"));
      return Buffer.from(rootOf(build(bodies, [bodies.length]).tree)).toString("hex");
    });

    expect(found).toEqual(roots);
    expect(Buffer.from(rootOf(emptyTree)).equals(sha256())).toBe(true);
  });

  it("has the root of the naive tree at every size, however it was appended, and stores every complete subtree", () => {
    fc.assert(
      fc.property(anySize, anySteps, (count, batches) => {
        const bodies = bodiesOf(count);

        const { tree, stored } = build(bodies, batches);

        expect(Buffer.from(rootOf(tree)).equals(naiveRoot(bodies))).toBe(true);
        for (let level = 1; 2 ** level <= count; level += 1) {
          for (let position = 0; (position + 1) * 2 ** level <= count; position += 1) {
            const leaves = bodies.slice(position * 2 ** level, (position + 1) * 2 ** level);
            expect(hexOf([stored.get(`${level}/${position}`) ?? zero])).toEqual(hexOf([naiveRoot(leaves)]));
          }
        }
      }),
    );
  });

  it("proves each leaf in each older tree, with few reads, and proves no other leaf", async () => {
    await fc.assert(
      fc.asyncProperty(anySize, anySize, anySize, fc.nat(), async (a, b, c, at) => {
        const [index, older, count] = [a, b, c].sort((x, y) => x - y) as [number, number, number];
        fc.pre(index < older);
        const bodies = bodiesOf(count);
        const { readNodes, reads } = build(bodies, [count]);
        const tree = { size: older, rootHash: naiveRoot(bodies.slice(0, older)) };
        const leaf = { hash: leafHash(bodies[index] ?? zero), index };

        const proof = await inclusionProof(index, older, readNodes);

        expect(hexOf(proof)).toEqual(hexOf(naivePath(index, bodies.slice(0, older))));
        expect(verifyInclusion(leaf, tree, proof)).toBe(true);
        expect(reads.count).toBeLessThanOrEqual(20);
        expect(verifyInclusion({ ...leaf, index: (index + 1) % older }, tree, proof)).toBe(older === 1);
        expect(verifyInclusion({ ...leaf, hash: leafHash(zero) }, tree, proof)).toBe(false);
        expect(verifyInclusion(leaf, tree, [...proof, sha256()])).toBe(false);
        expect(verifyInclusion(leaf, tree, proof.slice(1))).toBe(proof.length === 0);
        const spoiled = proof.map((part, place) => (place === at % proof.length ? sha256(part) : part));
        expect(verifyInclusion(leaf, tree, spoiled)).toBe(proof.length === 0);
      }),
    );
  });

  it("proves that each tree extends each older one, and no other tree", async () => {
    await fc.assert(
      fc.asyncProperty(anySize, anySize, async (a, b) => {
        const [older, count] = [Math.min(a, b), Math.max(a, b)];
        const bodies = bodiesOf(count);
        const { readNodes } = build(bodies, [count]);
        const old = { size: older, rootHash: naiveRoot(bodies.slice(0, older)) };
        const tree = { size: count, rootHash: naiveRoot(bodies) };
        const forged = { size: older, rootHash: sha256(old.rootHash) };

        const proof = await consistencyProof(older, count, readNodes);

        expect(hexOf(proof)).toEqual(older === 0 ? [] : hexOf(naiveConsistency(older, bodies)));
        expect(verifyConsistency(old, tree, proof)).toBe(true);
        expect(verifyConsistency(forged, tree, proof)).toBe(false);
        expect(verifyConsistency(old, { ...tree, rootHash: sha256() }, proof)).toBe(older === 0);
        expect(verifyConsistency(tree, old, proof)).toBe(older === count);
        expect(verifyConsistency(old, tree, [...proof, sha256()])).toBe(false);
      }),
    );
  });

  it("does not take a node for a leaf", () => {
    const [left, right] = [leafHash(zero), leafHash(one)];
    const forged = Buffer.concat([left, right]);

    expect(hexOf([leafHash(forged)])).not.toEqual(hexOf([rootOf(appendLeaves(emptyTree, [left, right]).tree)]));
  });

  it("keeps counting right beyond 2^32 leaves", () => {
    const big = { size: 2 ** 40 + 1, roots: [sha256(zero), sha256(one)] };

    const { tree, nodes } = appendLeaves(big, [sha256()]);

    expect(tree.size).toBe(2 ** 40 + 2);
    expect(nodes.map(({ level, position }) => ({ level, position }))).toEqual([{ level: 1, position: 2 ** 39 }]);
  });
});
