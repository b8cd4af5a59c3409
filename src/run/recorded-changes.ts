import { type ActionId, attribute, type ChangeSet, type FileChange } from "../domain/index.ts";
import type { BaseTree } from "../workspace/index.ts";

/** What authorized actions did to the base, from their recorded change sets alone: nothing of a tree is read. */
export function recordedChanges(
  base: BaseTree,
  recorded: readonly { readonly actionId: ActionId; readonly changeSet: ChangeSet }[],
): ChangeSet {
  const changes = [...attribute(recorded).values()].flatMap(({ change }) =>
    againstBase(change, base.entries.get(change.path)),
  );
  changes.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { changes };
}

/** A change as it stands against the base; none where the path is back at what it was. */
function againstBase(change: FileChange, before: FileChange["before"] | undefined): readonly FileChange[] {
  const { after } = change;
  const isSame =
    after === null ? before === undefined : before?.blobSha === after.blobSha && before.mode === after.mode;
  return isSame ? [] : [{ ...change, before: before ?? null }];
}
