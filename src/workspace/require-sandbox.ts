import { CountersignError } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";
import { type ProbeOptions, probeSandbox } from "./probe-sandbox.ts";
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

/** Tries every barrier before a worker takes its first run (SEC-60): one that does not hold throws SANDBOX_FAILED. */
export async function requireConfinement(
  deps: WorkspaceDeps,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<void> {
  const checks = await probeSandbox(deps, { ...options, part: "confinement" }, signal);
  const broken = checks.find(({ ok }) => !ok);
  if (broken === undefined) return;
  const detail = broken.detail === "" ? "" : ` (${broken.detail})`;
  throw new CountersignError("SANDBOX_FAILED", `the barrier \`${broken.name}\` does not hold${detail}`, {
    remedy: broken.remedy,
  });
}
