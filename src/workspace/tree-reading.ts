import type { FileChange, TreeEntry } from "../domain/index.ts";
import type { FileStamp } from "./known-files.ts";
import { fileOf, fingerprintOf, isSameEntry, KnownTree } from "./known-tree.ts";
import { type Comparison, nothingSetUp, type SetUp, type TreeJudge, type TreePlace } from "./tree-judge.ts";
import { type WalkedTree, walkTree } from "./tree-walk.ts";
import { walkUpper } from "./upper-walk.ts";
import type { TreeReading } from "./workspace.ts";

/** The whole tree against the base, every byte hashed (SEC-85 to SEC-90). The caller sees to it that nothing lives in it. */
export async function readBack(place: TreePlace): Promise<TreeReading> {
  const base = new KnownTree(place.base);
  const untrusting = { ...place, setUp: { ...place.setUp, endedAtMs: 0 } };
  return readingOf(untrusting, await walk(untrusting, base, { commandStartedAtMs: 0, isSetUp: false }), base);
}

/**
 * As `readBack`, against the tree as last known, reading only files that may have changed since (git's racy rule). What was
 * read becomes what is known.
 */
export async function readChanges(
  place: TreePlace,
  known: KnownTree,
  commandStartedAtMs: number,
): Promise<TreeReading> {
  const walked = await walk(place, known, { commandStartedAtMs, isSetUp: false });
  const reading = readingOf(place, walked, known);
  if (reading.kind === "read") known.become(walked.differences, stampsOf(walked));
  return reading;
}

/** What the setup left behind, or why no run can go on from there. */
export type SetUpReading =
  | { readonly kind: "read"; readonly setUp: SetUp }
  | { readonly kind: "refused"; readonly causes: readonly string[] };

/**
 * What the setup has made where the base has nothing. Readings that are given it leave it out as long as nobody changes it
 * (SEC-89); links and files of several names may be among it. What it did to files of the base becomes known.
 */
export async function readSetUp(place: TreePlace, known: KnownTree): Promise<SetUpReading> {
  const endedAtMs = Date.now();
  const walked = await walk({ ...place, setUp: nothingSetUp }, known, { commandStartedAtMs: 0, isSetUp: true });
  const { causes, files } = walked.judge;
  if (causes.length > 0) return { kind: "refused", causes };
  const { entries } = place.base;
  const made = new Map(Array.from(files).filter(([path]) => !entries.has(path)));
  const ofBase = new Map(Array.from(walked.differences).filter(([path]) => entries.has(path)));
  known.become(ofBase, stampsOf(walked));
  return { kind: "read", setUp: { made, endedAtMs } };
}

function walk(
  place: TreePlace,
  known: KnownTree,
  { commandStartedAtMs, isSetUp }: Pick<Comparison, "commandStartedAtMs" | "isSetUp">,
): Promise<WalkedTree> {
  const comparison: Comparison = {
    entry: (path) => known.entry(path),
    stamped: (path) => (place.areStampsSure && commandStartedAtMs !== 0 ? known.stamped(path) : undefined),
    commandStartedAtMs,
    isSetUp,
  };
  const { upper } = place;
  return upper === null ? walkTree(place, comparison) : walkUpper({ ...place, upper }, comparison);
}

const stampsOf = ({ judge }: WalkedTree): Map<string, FileStamp> =>
  new Map(Array.from(judge.files, ([path, { stamp }]) => [path, stamp]));

function readingOf(place: TreePlace, walked: WalkedTree, before: KnownTree): TreeReading {
  const { causes } = walked.judge;
  if (causes.length > 0) return { kind: "refused", causes };
  const changes = [...changesOf(place, walked, before)].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { kind: "read", changeSet: { changes }, fingerprint: fingerprintOf(place.base, walked.differences) };
}

function* changesOf(place: TreePlace, { judge, differences }: WalkedTree, before: KnownTree): Generator<FileChange> {
  for (const path of new Set([...before.differences.keys(), ...differences.keys()])) {
    const different = differences.get(path);
    const now = different === undefined ? fileOf(place.base, path) : (different ?? undefined);
    const earlier = before.entry(path);
    if (isSameEntry(earlier, now)) continue;
    yield { path, before: earlier ?? null, after: now === undefined ? null : afterOf(judge, path, now) };
  }
}

function afterOf(judge: TreeJudge, path: string, { mode, blobSha }: TreeEntry): FileChange["after"] {
  const content = judge.contents.get(path);
  // INVARIANT: what differs was read, since only what a walk came to can differ from what was known of it.
  if (content === undefined || mode === "160000") throw new Error(`nothing was read at ${JSON.stringify(path)}`);
  return { mode, blobSha, content };
}
