import { attribute, type ChangeSet, emptyChangeSet, splitByAuthority } from "../domain/index.ts";
import type { Workspace } from "../workspace/index.ts";
import { recordedChanges } from "./recorded-changes.ts";
import type { Session } from "./session.ts";

/** What may be published of the checkout, what may not, and why nothing may where the tree was refused. */
export type ReadBack = {
  readonly authorized: ChangeSet;
  readonly leftOut: readonly string[];
  readonly refusedCauses: readonly string[];
};

/** Reads the whole tree once and keeps what authorized actions produced (SEC-91). */
export async function readBack(session: Session, workspace: Workspace): Promise<ReadBack> {
  const reading = await workspace.readBack();
  if (reading.kind === "refused") {
    return { authorized: emptyChangeSet, leftOut: [], refusedCauses: reading.causes };
  }
  const { authorized, leftOut } = splitByAuthority(reading.changeSet, attribute(session.recorded));
  return { authorized, leftOut: leftOut.map(({ path }) => path), refusedCauses: [] };
}

/** Where the tree could not be read: the work as it is on record, to be kept and never called verified. */
export const fromRecord = ({ base, recorded }: Session): ReadBack => ({
  authorized: recordedChanges(base, recorded),
  leftOut: [],
  refusedCauses: [],
});
