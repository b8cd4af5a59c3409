import { attribute, type ChangeSet, emptyChangeSet, type FileChange, splitByAuthority } from "../domain/index.ts";
import type { Workspace } from "../workspace/index.ts";
import { decidePaths, deciderOf } from "./decide-paths.ts";
import { gateFiles } from "./gate-files.ts";
import { withoutObstructed } from "./obstructed.ts";
import { recordedChanges } from "./recorded-changes.ts";
import type { RunDeps } from "./run-deps.ts";
import type { WithheldChange } from "./run-report.ts";
import type { Session } from "./session.ts";

/** What may be published of the checkout, what may not, and why nothing may where the tree was refused. */
export type ReadBack = {
  readonly authorized: ChangeSet;
  /** Changes that no authorized action produced. */
  readonly leftOut: readonly string[];
  /** Changes that an action produced and the policy does not let out. */
  readonly withheld: readonly WithheldChange[];
  readonly refusedCauses: readonly string[];
};

const nothingRead: ReadBack = { authorized: emptyChangeSet, leftOut: [], withheld: [], refusedCauses: [] };

/** Reads the whole tree once; keeps what authorized actions produced (SEC-91) and policy and commit gate let out (AUD-21). */
export async function readBack(deps: RunDeps, session: Session, workspace: Workspace): Promise<ReadBack> {
  const reading = await workspace.readBack();
  if (reading.kind === "refused") return { ...nothingRead, refusedCauses: reading.causes };
  const { authorized, leftOut } = splitByAuthority(reading.changeSet, attribute(session.recorded));
  const decider = deciderOf(session);
  const decided = decidePaths(deps, decider, authorized.changes);
  const gated = await gateFiles(deps, session, decided.allowed, decider.isApproved);
  const { fitting, obstructed } = withoutObstructed(reading.changeSet.changes, gated.allowed);
  return {
    ...nothingRead,
    authorized: { changes: fitting },
    leftOut: leftOut.map(({ path }) => path),
    withheld: [...decided.withheld, ...gated.withheld, ...obstructed.map(inTheWay)],
  };
}

/** Where the tree could not be read: the work as it is on record, to be kept and never called verified. */
export function fromRecord(deps: RunDeps, session: Session): ReadBack {
  const recorded = recordedChanges(session.base, session.recorded).changes;
  const { allowed, withheld } = decidePaths(deps, deciderOf(session), recorded);
  const { fitting, obstructed } = withoutObstructed(recorded, allowed);
  return { ...nothingRead, authorized: { changes: fitting }, withheld: [...withheld, ...obstructed.map(inTheWay)] };
}

const inTheWay = ({ path }: FileChange): WithheldChange => ({ path, policyIds: ["gate:path_taken"] });
