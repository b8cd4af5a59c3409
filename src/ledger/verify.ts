import type { Checkpoint, LedgerEntry } from "../domain/index.ts";
import { checkErasures, checkTexts } from "./check-texts.ts";
import { derivedRows, follow, isSameRow } from "./history.ts";
import { appendLeaves, leafHash, rootOf, type TreeNode } from "./merkle.ts";
import { readBody } from "./read-body.ts";
import {
  copiedColumns,
  type DerivedRow,
  derivedKey,
  type StoredEntry,
  type StoredLog,
  type StoredPage,
} from "./stored-log.ts";
import { base64, type Finding, faultMessages, newWalk, report, type Trust, type Walk } from "./verification-walk.ts";

/** The head as computed from the entries themselves, and what is wrong with the log. */
export type Verification = Checkpoint & {
  /** No finding. */
  readonly ok: boolean;
  /** Size of the newest checkpoint passed in that the log extends: nothing before it was cut off. Null without one. */
  readonly reach: number | null;
  /** The first thousand. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
};

/**
 * Checks a whole log: each entry, its tree, its order and life, the texts sealed with it and all that is derived from it.
 * Reads nothing but what it is given: no clock, no network, no database.
 */
export async function verifyLedger(log: StoredLog, trust: Trust): Promise<Verification> {
  const walk = newWalk(log, trust);
  if (log.head === null) report(walk, "head_missing", null, "the log has no head");
  checkOrigin(walk, log);
  checkCheckpoints(walk);
  for await (const page of log.pages) await checkPage(walk, page);
  checkSize(walk, log);
  checkErasures(walk);
  if (log.derived !== null) await checkDerived(walk, log.derived);
  return {
    origin: walk.origin ?? "",
    size: walk.tree.size,
    rootHash: base64(rootOf(walk.tree)),
    ok: walk.findingCount === 0,
    reach: walk.reach,
    findings: walk.findings,
    findingCount: walk.findingCount,
  };
}

function checkOrigin(walk: Walk, { head }: StoredLog): void {
  if (head === null || head.origin === walk.origin) return;
  report(walk, "other_instance", null, `the log is of \`${head.origin}\`, expected is \`${walk.origin}\``);
}

async function checkPage(walk: Walk, page: StoredPage): Promise<void> {
  const nodes: TreeNode[] = [];
  const texts = Map.groupBy(page.texts, ({ entryIndex }) => entryIndex);
  for (const stored of page.entries) {
    checkPlace(walk, stored);
    nodes.push(...checkTree(walk, stored));
    const read = readBody(stored.body);
    if (read.kind !== "entry") {
      report(walk, read.kind, stored.index, "the body is no canonical entry of version 1");
      continue;
    }
    checkCopies(walk, stored, read.entry);
    for (const fault of follow(walk.history, read.entry)) report(walk, fault, stored.index, faultMessages[fault]);
    await checkTexts(walk, read.entry, texts.get(stored.index) ?? []);
    texts.delete(stored.index);
  }
  checkNodes(walk, nodes, page.nodes);
  for (const text of [...texts.values()].flat()) {
    report(walk, "text_extra", text.entryIndex, `a sealed \`${text.field}\` belongs to no sound entry`);
  }
}

/** Dense from 0: a deleted, inserted or moved entry breaks it. */
function checkPlace(walk: Walk, stored: StoredEntry): void {
  const expected = walk.tree.size;
  if (stored.index === expected) return;
  report(walk, "index_gap", stored.index, `expected is index ${expected}`);
}

/** The subtrees that this entry completes. */
function checkTree(walk: Walk, stored: StoredEntry): readonly TreeNode[] {
  const leaf = leafHash(stored.body);
  if (Buffer.compare(leaf, stored.leafHash) !== 0) {
    report(walk, "leaf_hash_differs", stored.index, "the stored leaf hash is not that of the body");
  }
  const { tree, nodes } = appendLeaves(walk.tree, [leaf]);
  walk.tree = tree;
  checkCheckpoints(walk);
  return nodes;
}

function checkCheckpoints(walk: Walk): void {
  for (const checkpoint of walk.trust.checkpoints) {
    if (checkpoint.size !== walk.tree.size) continue;
    if (checkpoint.origin !== walk.origin) {
      report(walk, "other_instance", null, `a checkpoint is of \`${checkpoint.origin}\``);
    } else if (checkpoint.rootHash !== base64(rootOf(walk.tree))) {
      report(walk, "history_rewritten", null, `the first ${checkpoint.size} entries are not those of the checkpoint`);
    } else {
      walk.reach = checkpoint.size;
    }
  }
}

function checkCopies(walk: Walk, stored: StoredEntry, entry: LedgerEntry): void {
  if (entry.index !== stored.index) report(walk, "column_differs", stored.index, `the body is of index ${entry.index}`);
  if (entry.fencingToken !== stored.fencingToken) {
    report(walk, "column_differs", stored.index, "the column `fencingToken` differs from the body");
  }
  if (entry.origin !== walk.origin) report(walk, "other_instance", stored.index, `the entry is of \`${entry.origin}\``);
  for (const column of copiedColumns) {
    if (entry[column] === stored.copies[column]) continue;
    report(walk, "column_differs", stored.index, `the column \`${column}\` differs from the body`);
  }
}

const placeOf = ({ level, position }: TreeNode): string => `${level}/${position}`;
const lastLeafOf = ({ level, position }: TreeNode): number => (position + 1) * 2 ** level - 1;

function checkNodes(walk: Walk, expected: readonly TreeNode[], found: readonly TreeNode[]): void {
  const stored = new Map(found.map((node) => [placeOf(node), node]));
  for (const node of expected) {
    const same = stored.get(placeOf(node));
    stored.delete(placeOf(node));
    if (same === undefined) report(walk, "node_missing", lastLeafOf(node), `subtree ${placeOf(node)} is not stored`);
    else if (Buffer.compare(same.hash, node.hash) !== 0) {
      report(walk, "node_differs", lastLeafOf(node), `subtree ${placeOf(node)} has another hash`);
    }
  }
  if (new Set(found.map(placeOf)).size < found.length) report(walk, "node_extra", null, "a subtree is stored twice");
  for (const node of stored.values())
    report(walk, "node_extra", null, `subtree ${placeOf(node)} belongs to no entries`);
}

function checkSize(walk: Walk, { head }: StoredLog): void {
  const { size } = walk.tree;
  if (head !== null && head.size !== size) {
    report(walk, "head_size_differs", null, `the head says ${head.size} entries, there are ${size}`);
  }
  for (const checkpoint of walk.trust.checkpoints) {
    if (checkpoint.size <= size) continue;
    report(walk, "cut_end", null, `a checkpoint says ${checkpoint.size} entries, there are ${size}`);
  }
}

async function checkDerived(walk: Walk, rows: AsyncIterable<DerivedRow>): Promise<void> {
  const expected = new Map<string, DerivedRow>();
  for (const row of derivedRows(walk.history)) expected.set(derivedKey(row), row);
  for await (const row of rows) {
    const key = derivedKey(row);
    const same = expected.get(key);
    expected.delete(key);
    if (same === undefined) report(walk, "derived_extra", null, `the row \`${key}\` follows from no entry`);
    else if (!isSameRow(row, same))
      report(walk, "derived_differs", null, `the row \`${key}\` differs from the entries`);
  }
  for (const key of expected.keys()) report(walk, "derived_missing", null, `the row \`${key}\` is not stored`);
}
