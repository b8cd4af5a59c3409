import type { FileChange } from "../domain/index.ts";
import { refusalsOfFile, refusalsOfLockfile } from "../gateway/index.ts";
import type { RunDeps } from "./run-deps.ts";
import type { WithheldChange } from "./run-report.ts";
import type { Session } from "./session.ts";

/**
 * The commit gate's rules on single files (SEC-98, SEC-99): what it refuses is withheld like what policy denies, and named by
 * `gate:` and the rule. A lockfile that a person approved as it is may come alone.
 */
export async function gateFiles(
  deps: RunDeps,
  { base }: Pick<Session, "base">,
  changes: readonly FileChange[],
  isApproved: (path: string) => boolean,
): Promise<{ readonly allowed: readonly FileChange[]; readonly withheld: readonly WithheldChange[] }> {
  const allowed: FileChange[] = [];
  const withheld: WithheldChange[] = [];
  for (const change of changes) {
    const { path } = change;
    const content = change.before === null ? null : await deps.workspace.readBaseFile(base, path);
    const ofLockfile = isApproved(path) ? [] : refusalsOfLockfile(change, changes, base.entries);
    const policyIds = [...refusalsOfFile({ change, base: content }, deps.operator.commit), ...ofLockfile];
    if (policyIds.length === 0) allowed.push(change);
    else withheld.push({ path, policyIds });
  }
  return { allowed, withheld };
}
