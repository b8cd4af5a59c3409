import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError, type ReachedLimit } from "../domain/index.ts";
import { type ControlGroup, groupFolders, makeControlGroup, removeGroupFolders } from "./control-group.ts";
import type { WorkspaceDeps } from "./host.ts";
import { allowedTasks, processLimits } from "./process-limits.ts";
import type { ProcessFacts } from "./process-tree.ts";
import { groupName, type Rung } from "./rung.ts";
import type { OutputMeter, RungName, SandboxLimits } from "./sandbox-limits.ts";
import { usageMeter } from "./sandbox-usage.ts";

export type ConfinementOptions = {
  readonly rung: Rung;
  readonly limits: SandboxLimits;
  /** How many sandboxes may run at once under one user id. */
  readonly sandboxesAtOnce: number;
  readonly output: OutputMeter;
  /** Whether the work folder's own file system keeps to `workBytes` and `workInodes` (SEC-56); else they are watched. */
  readonly isWorkBounded: boolean;
};

/** What holds the commands of one workspace to their limits (SEC-53 to SEC-57). */
export type Confinement = AsyncDisposable & {
  readonly rung: RungName;
  readonly limits: SandboxLimits;
  readonly output: OutputMeter;
  readonly isWorkBounded: boolean;
  /** `prlimit`'s options for one command; they stand on every rung. */
  processLimits(timeoutMs: number): readonly string[];
  /**
   * Puts a process into the group, which has to wait for it before it becomes bubblewrap: so nothing of a sandbox is ever outside.
   * Null where there is no group. Throws SANDBOX_FAILED.
   */
  readonly admit: ((pid: number) => Promise<void>) | null;
  /** For one command: which limit its processes have reached, as far as it can be told, asked again and again. */
  watch(): (init: ProcessFacts | null) => ReachedLimit | null;
  /** KILL to whatever is in the group. */
  kill(): void;
  isEmpty(): boolean;
};

/**
 * Opens the confinement of one workspace on the rung chosen at the start. Throws SANDBOX_FAILED where that rung does not work
 * any more: never a lower one in silence. Disposing ends what is inside and removes the group.
 */
export function openConfinement(deps: WorkspaceDeps, options: ConfinementOptions): Confinement {
  const { rung, limits, output, isWorkBounded } = options;
  const tasks = allowedTasks(limits.processes, options.sandboxesAtOnce);
  const hasMemoryGroup = rung.place !== null;
  const same = {
    ...{ rung: rung.name, limits, output, isWorkBounded },
    processLimits: (timeoutMs: number) => processLimits({ timeoutMs, limits, tasks, hasMemoryGroup }),
  };
  if (rung.place === null) {
    return {
      ...same,
      admit: null,
      watch: () => watchedLimits(limits),
      kill: () => {},
      isEmpty: () => true, // the PID namespace is all there is
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const name = groupName(deps);
  const folders = groupFolders(rung.place, name);
  const forget = deps.registerProcess("a control group", { pid: null, paths: [], mounts: [], cgroups: folders });
  const group = ((place) => {
    try {
      return makeControlGroup(place, name, groupLimits(limits));
    } catch (cause) {
      forget();
      throw groupFailed("no control group can be made", cause);
    }
  })(rung.place);
  return {
    ...same,
    admit: (pid) =>
      group.admit(pid).catch((cause) => {
        throw groupFailed("the sandbox can't be put into its control group", cause);
      }),
    watch: () => countedLimits(group, limits),
    kill: () => group.kill(),
    isEmpty: () => group.isEmpty(),
    [Symbol.asyncDispose]: () => removeGroup(group, forget),
  };
}

/** Pages of the work folder's tmpfs are counted here too, so there is room for both (SEC-56). */
const groupLimits = ({ memoryBytes, workBytes, processes, cpus }: SandboxLimits) => ({
  memoryBytes: workBytes + memoryBytes,
  processes,
  cpus: cpus ?? availableParallelism(),
});

const groupFailed = (message: string, cause: unknown): CountersignError =>
  new CountersignError("SANDBOX_FAILED", `${message}: ${(cause as Error).message}`, { cause });

/** The kernel kills and refuses; its counters tell. A process killed for want of memory leaves the others alive with v1. */
function countedLimits(group: ControlGroup, limits: SandboxLimits): () => ReachedLimit | null {
  const before = group.counts();
  return () => {
    const { outOfMemory, refusedProcesses } = group.counts();
    if (outOfMemory > before.outOfMemory) return { kind: "memory", atMost: groupLimits(limits).memoryBytes };
    if (refusedProcesses > before.refusedProcesses) return { kind: "processes", atMost: limits.processes };
    return null;
  };
}

/** Without groups: what the processes hold now (SEC-55). Between two looks more can be taken, which is why it is the lowest rung. */
function watchedLimits({ memoryBytes, processes }: SandboxLimits): (init: ProcessFacts | null) => ReachedLimit | null {
  const usageOf = usageMeter();
  return (init) => {
    if (init === null) return null;
    const used = usageOf(init);
    if (used.memoryBytes > memoryBytes) return { kind: "memory", atMost: memoryBytes };
    return used.tasks >= processes - outsideTasks ? { kind: "processes", atMost: processes } : null;
  };
}

/** `nproc` refuses at `processes`, bubblewrap's own process outside counted in: looked for is a little less, or it is never seen. */
const outsideTasks = 2;

const removeWithinMs = 5_000;

/** A group that would not empty stays registered: the next start tries again. */
async function removeGroup(group: ControlGroup, forget: () => void): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < removeWithinMs; await delay(10)) {
    if (removeGroupFolders(group.folders)) return forget();
    try {
      group.kill();
    } catch {
      // one of its folders is gone already
    }
  }
}
