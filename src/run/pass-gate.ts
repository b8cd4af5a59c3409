import { type GateAnswer, passCommitGate } from "../gateway/index.ts";
import type { RunDeps } from "./run-deps.ts";
import type { RunReport } from "./run-report.ts";
import type { Session } from "./session.ts";

/** What is to leave the machine: files, and the texts that go with them. */
export type Leaving = Pick<Parameters<typeof passCommitGate>[1], "changeSet" | "texts"> & {
  readonly diffStat: RunReport["diffStat"];
};

/** The commit gate with the run's base and limits. */
export const passGate = (
  deps: RunDeps,
  session: Session,
  { changeSet, texts, diffStat }: Leaving,
): Promise<GateAnswer> =>
  passCommitGate(deps, {
    changeSet,
    texts,
    readBase: (path) => deps.workspace.readBaseFile(session.base, path),
    limits: session.settings.limits,
    lineCount: diffStat.added + diffStat.removed,
  });

/** What a person can do about a change that the gate stopped. */
export const gateRemedy =
  "look at the change with `countersign runs patch <run>`, and ask again without what the gate names";
