import type { FileChange, TreeEntry } from "../domain/index.ts";

/** A file as the run last read or wrote it. */
type Remembered = { readonly sha256: string; readonly bytes: Uint8Array | null };

/** An edit that this run applied (ACI-47). */
export type AppliedEdit = {
  /** The edits as one text; equal texts are equal edits. */
  readonly key: string;
  readonly turn: number;
  readonly actionId: string;
  readonly preHash: string;
  readonly postHash: string;
  readonly lines: string;
};

/** Who changed a path. */
export type Change = { readonly tool: string; readonly actionId: string; readonly turn: number };

/** The run's memory of files, by real path (ACI-39). It grants nothing: the content itself is compared at each write. */
export type Fingerprints = {
  remember(path: string, sha256: string, bytes: Uint8Array): void;
  recall(path: string): Remembered | null;
  /** All that `recall` knows, without the bytes: what a worker that takes the run up again may count as read. */
  remembered(): readonly { readonly path: string; readonly sha256: string }[];
  /** A change that an authorized action made; its paths count as this run's. */
  noteChange(change: FileChange, by: Change): void;
  /** A change that is recorded but never put down to the run (SEC-91). */
  noteForeignChange(path: string, by: Change): void;
  lastChange(path: string): Change | null;
  noteEdit(path: string, edit: AppliedEdit): void;
  edits(path: string): readonly AppliedEdit[];
  /** Whether what authorized actions changed adds up to nothing against the base. */
  isUnchanged(base: ReadonlyMap<string, TreeEntry>): boolean;
  /** True when the question was asked before; asking marks it. */
  wasAsked(question: string): boolean;
};

/** Content is kept for diffs only: of small files, the latest ones. */
const maxKeptFileBytes = 1024 * 1024;
const maxKeptBytes = 32 * 1024 * 1024;

export function createFingerprints(): Fingerprints {
  const remembered = new Map<string, Remembered>();
  const lastChanges = new Map<string, Change>();
  const changed = new Map<string, FileChange["after"]>();
  const applied = new Map<string, AppliedEdit[]>();
  const asked = new Set<string>();

  return {
    remember(path, sha256, bytes) {
      remembered.delete(path);
      remembered.set(path, { sha256, bytes: bytes.length > maxKeptFileBytes ? null : bytes });
      dropOldest(remembered);
    },
    recall: (path) => remembered.get(path) ?? null,
    remembered: () => Array.from(remembered, ([path, { sha256 }]) => ({ path, sha256 })),
    noteChange(change, by) {
      changed.set(change.path, change.after === null ? null : { ...change.after, content: new Uint8Array() });
      lastChanges.set(change.path, by);
    },
    noteForeignChange: (path, by) => void lastChanges.set(path, by),
    lastChange: (path) => lastChanges.get(path) ?? null,
    noteEdit: (path, edit) => void applied.set(path, [...(applied.get(path) ?? []), edit]),
    edits: (path) => applied.get(path) ?? [],
    isUnchanged: (base) => [...changed].every(([path, after]) => isAsInBase(base.get(path), after)),
    wasAsked(question) {
      const before = asked.has(question);
      asked.add(question);
      return before;
    },
  };
}

function isAsInBase(entry: TreeEntry | undefined, after: FileChange["after"]): boolean {
  if (entry === undefined || after === null) return entry === undefined && after === null;
  return entry.blobSha === after.blobSha && entry.mode === after.mode;
}

function dropOldest(remembered: Map<string, Remembered>): void {
  let keptBytes = 0;
  for (const [path, file] of [...remembered].reverse()) {
    keptBytes += file.bytes?.length ?? 0;
    if (keptBytes > maxKeptBytes && file.bytes !== null) remembered.set(path, { sha256: file.sha256, bytes: null });
  }
}
