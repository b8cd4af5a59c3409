import type { ChangeSet } from "../domain/index.ts";
import type { TreeReading } from "../workspace/index.ts";
import type { ActionContext } from "./action-description.ts";
import type { Change } from "./fingerprints.ts";

/** What a command left in the tree, as facts to record and to tell. */
export type TreeChanges = {
  /** Null where the tree can't be used as it is (SEC-88). */
  readonly changeSet: ChangeSet | null;
  readonly causes: readonly string[];
  readonly fingerprintBefore: string;
  readonly fingerprintAfter: string;
};

export function treeChanges(reading: TreeReading, fingerprintBefore: string): TreeChanges {
  if (reading.kind === "refused") {
    return { changeSet: null, causes: reading.causes, fingerprintBefore, fingerprintAfter: "unreadable" };
  }
  return { changeSet: reading.changeSet, causes: [], fingerprintBefore, fingerprintAfter: reading.fingerprint };
}

/** Remembers who changed what; `isAttributed` is false for what no action may claim (SEC-91). */
export function rememberChanges(
  context: ActionContext,
  changes: TreeChanges,
  tool: string,
  isAttributed: boolean,
): void {
  const by: Change = { tool, actionId: context.actionId, turn: context.turn };
  for (const change of changes.changeSet?.changes ?? []) {
    if (isAttributed) context.fingerprints.noteChange(change, by);
    else context.fingerprints.noteForeignChange(change.path, by);
  }
}

const maxNamedPaths = 10;

/** One line for the model: which files the command changed, or what makes the tree unusable. */
export function changesLine(changes: TreeChanges): string | null {
  if (changes.causes.length > 0) {
    return `the tree holds what can't be taken over; remove it: ${changes.causes.slice(0, maxNamedPaths).join("; ")}`;
  }
  const paths = (changes.changeSet?.changes ?? []).map((change) => `${marks(change)} ${change.path}`);
  if (paths.length === 0) return null;
  const rest = paths.length - maxNamedPaths;
  return `files changed: ${paths.slice(0, maxNamedPaths).join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

const marks = (change: ChangeSet["changes"][number]): string => {
  if (change.after === null) return "D";
  return change.before === null ? "A" : "M";
};
