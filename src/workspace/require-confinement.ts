import { CountersignError } from "../domain/index.ts";
import type { WorkspaceDeps } from "./host.ts";
import { type ProbeOptions, probeSandbox } from "./probe-sandbox.ts";

/**
 * What a worker does before it takes a run (SEC-60): tries every barrier in a real sandbox. There is no lower rung for one
 * (SEC-59). Throws SANDBOX_FAILED with the first that does not hold and its remedy.
 */
export async function requireConfinement(
  deps: WorkspaceDeps,
  options: Omit<ProbeOptions, "part">,
  signal: AbortSignal,
): Promise<void> {
  const failing = (await probeSandbox(deps, { ...options, part: "confinement" }, signal)).filter(({ ok }) => !ok);
  const [first] = failing;
  if (first === undefined) return;
  const others = failing.length === 1 ? "" : `, nor do ${failing.length - 1} others`;
  const message = `the sandbox's barrier \`${first.name}\` does not hold${others}: ${first.detail}`;
  throw new CountersignError("SANDBOX_FAILED", message, { remedy: first.remedy });
}
