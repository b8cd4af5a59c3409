import { CountersignError } from "../domain/index.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { ParsedAction } from "./parse.ts";
import type { RunContext } from "./run-context.ts";

/** With these the host tells people how a run stands and ends: they hear of it also while all else is halted (GH-45). */
const tellingTools: ReadonlySet<string> = new Set(["add_reaction", "create_comment", "update_comment"]);

// INVARIANT: under the kill switch, or after a stop, no further action starts (test/gateway/halt.test.ts).
/**
 * Reads the kill switch and the wish to stop the run. Throws `PAUSED` and `ABORTED`, and for any action
 * `KILL_SWITCH_UNREADABLE` where they can't be read (SEC-5, GH-50).
 */
export async function requireGoing(deps: GatewayDeps, run: RunContext, { proposed }: ParsedAction): Promise<void> {
  const halt = await deps.readHalt(run.runId);
  const isTelling = proposed.principal.kind === "system" && tellingTools.has(proposed.tool);
  if (halt === null || isTelling) return;
  if (halt === "paused") throw new CountersignError("PAUSED", "Countersign is paused by its operator");
  throw new CountersignError("ABORTED", "the run was asked to stop");
}
