import { CountersignError } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";
import { inheritedDescriptors } from "./inherited-descriptors.ts";

export type LaunchRequest = {
  /** `prlimit`'s options. */
  readonly limits: readonly string[];
  /** The descriptor on which the start waits for a line, and ends without one; null: it does not wait. */
  readonly gate: number | null;
  /** Descriptors below are the command's own; inherited ones from here on are closed. */
  readonly firstForeign: number;
};

/**
 * What stands before bubblewrap's own flags, program first: a shell that waits at the gate and closes what this process
 * inherited (SEC-46), where there is something to wait for or to close; then `prlimit`, then bubblewrap, each in the
 * place of the one before. Throws BUBBLEWRAP_MISSING, SANDBOX_FAILED.
 */
export function launcher(deps: Pick<WorkspaceDeps, "searchPath">, request: LaunchRequest): readonly string[] {
  const bubblewrap = findProgram(deps.searchPath, "bwrap");
  if (bubblewrap === null) {
    throw new CountersignError("BUBBLEWRAP_MISSING", `bwrap is in none of \`${deps.searchPath}\``);
  }
  const limiter = findProgram(deps.searchPath, "prlimit");
  if (limiter === null) {
    throw new CountersignError("SANDBOX_FAILED", `prlimit is in none of \`${deps.searchPath}\``, {
      remedy: "install util-linux, whose `prlimit` sets the limits",
    });
  }
  const { gate } = request;
  const limited = [limiter, ...request.limits, "--", bubblewrap];
  const foreign = inheritedDescriptors().filter((descriptor) => descriptor >= request.firstForeign);
  if (gate === null && foreign.length === 0) return limited;
  const waiting = gate === null ? "" : `read -r _ <&${gate} || exit 125; `;
  const closing = [...(gate === null ? [] : [gate]), ...foreign].map((descriptor) => `${descriptor}>&-`).join(" ");
  // Not every `sh` takes descriptors of two digits; the one that does takes a little longer to start.
  const shell = foreign.some((descriptor) => descriptor > 9) ? ["/bin/bash", "--norc", "--noprofile"] : ["/bin/sh"];
  return [...shell, "-c", `${waiting}exec "$@" ${closing}`, "sh", ...limited];
}
