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
export type Attribution = ReadonlyMap<
  string,
  {
    readonly actionId: ActionId;
    readonly change: FileChange;
    /** What the first recorded change of the path found; null is no file. */
    readonly found: FileChange["before"];
    /** Whether each change began where the one before it ended: then nothing else wrote to the path in between. */
    readonly isUnbroken: boolean;
  }
>;

type Version = { readonly mode: string; readonly blobSha: string } | null;
const isSame = (a: Version, b: Version): boolean => a?.mode === b?.mode && a?.blobSha === b?.blobSha;

/** The last action that changed each path, in the order recorded. */
export function attribute(
  recorded: readonly { readonly actionId: ActionId; readonly changeSet: ChangeSet }[],
): Attribution {
  const attribution = new Map<string, Attribution extends ReadonlyMap<string, infer Claim> ? Claim : never>();
  for (const { actionId, changeSet } of recorded) {
    for (const change of changeSet.changes) {
      const earlier = attribution.get(change.path);
      const isUnbroken = earlier === undefined || (earlier.isUnbroken && isSame(earlier.change.after, change.before));
      attribution.set(change.path, {
        actionId,
        change,
        found: earlier === undefined ? change.before : earlier.found,
        isUnbroken,
      });
    }
  }
  return attribution;
}

/**
 * Splits what was read back into what authorized actions produced, all of it from the base on, and what nobody may claim
 * (SEC-91): a file that the tests wrote and an action then edited is not the action's.
 */
export function splitByAuthority(
  readBack: ChangeSet,
  attribution: Attribution,
): { readonly authorized: ChangeSet; readonly leftOut: readonly FileChange[] } {
  const isAuthorized = ({ path, before, after }: FileChange): boolean => {
    const claim = attribution.get(path);
    return claim !== undefined && claim.isUnbroken && isSame(claim.found, before) && isSame(claim.change.after, after);
  };
  return {
    authorized: { changes: readBack.changes.filter(isAuthorized) },
    leftOut: readBack.changes.filter((change) => !isAuthorized(change)),
  };
}
