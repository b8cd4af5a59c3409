import type { ActionId } from "./ids.ts";

/** Git's modes of what may stand in a change set. */
export type FileMode = "100644" | "100755" | "120000";

/** One file of a tree: git's blob id is what both sides compare. */
export type TreeEntry = { readonly mode: FileMode | "160000"; readonly blobSha: string; readonly sizeBytes: number };

/** One changed path against the base. `content` holds the bytes to publish; null is a deletion. */
export type FileChange = {
  /** Repository-relative with `/`. */
  readonly path: string;
  readonly before: TreeEntry | null;
  readonly after: { readonly mode: FileMode; readonly blobSha: string; readonly content: Uint8Array } | null;
};

/** What differs from a tree, sorted by path in code unit order, one entry a path. */
export type ChangeSet = { readonly changes: readonly FileChange[] };

export const emptyChangeSet: ChangeSet = { changes: [] };

/** Which action a changed path is put down to: made from the recorded change sets alone (AUD-21). */
export type Attribution = ReadonlyMap<string, { readonly actionId: ActionId; readonly change: FileChange }>;

/** The last action that changed each path, in the order recorded. */
export function attribute(
  recorded: readonly { readonly actionId: ActionId; readonly changeSet: ChangeSet }[],
): Attribution {
  const attribution = new Map<string, { actionId: ActionId; change: FileChange }>();
  for (const { actionId, changeSet } of recorded) {
    for (const change of changeSet.changes) attribution.set(change.path, { actionId, change });
  }
  return attribution;
}

/** Splits what was read back into what authorized actions produced and what nobody may claim (SEC-91). */
export function splitByAuthority(
  readBack: ChangeSet,
  attribution: Attribution,
): { readonly authorized: ChangeSet; readonly leftOut: readonly FileChange[] } {
  const isAuthorized = (change: FileChange): boolean => {
    const claim = attribution.get(change.path)?.change.after;
    if (claim === undefined) return false;
    if (claim === null || change.after === null) return claim === change.after;
    return claim.mode === change.after.mode && claim.blobSha === change.after.blobSha;
  };
  return {
    authorized: { changes: readBack.changes.filter(isAuthorized) },
    leftOut: readBack.changes.filter((change) => !isAuthorized(change)),
  };
}
