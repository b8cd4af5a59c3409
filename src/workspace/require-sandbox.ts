import { CountersignError } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";
import { requireBubblewrap } from "./require-bubblewrap.ts";
import { takeRunUid } from "./run-uids.ts";
import { chooseRung, hasProcessGroup, type Rung, type WantedRung } from "./rung.ts";

/**
 * Refuses a start without the means of a run, before anything is begun: throws GIT_MISSING, BUBBLEWRAP_MISSING, RUNG_MISSING,
 * and RUN_UID_UNUSABLE where root has no free user id for a sandbox. Answers with the rung that all runs will stand on.
 */
export async function requireSandbox(
  deps: WorkspaceDeps,
  wanted: WantedRung & { readonly runUids: string | null },
  signal: AbortSignal,
): Promise<Rung> {
  if (findProgram(deps.searchPath, "git") === null) {
    throw new CountersignError("GIT_MISSING", `git is in none of \`${deps.searchPath}\``);
  }
  await requireBubblewrap(deps);
  const rung = chooseRung(deps, wanted);
  const runUid = await takeRunUid(deps, wanted.runUids, { isShared: hasProcessGroup(rung) }, signal);
  await runUid.release();
  return rung;
}
