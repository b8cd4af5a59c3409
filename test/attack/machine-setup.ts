import { sweepAbandonedGroups } from "../../src/store/index.ts";
import { groupParentsHere, machineDifferences, readMachine } from "./machine-state.ts";

/**
 * Whatever tests do to sandboxes, the machine is afterwards as it was: mounts, processes, control groups, files and kernel
 * settings (SEC-61). Compared around all files of a run of vitest, the attacks among them.
 */
export async function setup(): Promise<() => Promise<void>> {
  await sweepAbandonedGroups(groupParentsHere()); // of a run of tests that was killed
  const before = await readMachine(process.pid);
  return async () => {
    const found = await machineDifferences(before, process.pid);
    if (found.length > 0) throw new Error(`the tests did not leave the machine as it was:\n${found.join("\n")}`);
  };
}
