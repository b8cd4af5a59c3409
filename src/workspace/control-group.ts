import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GroupPlace, neededControllers } from "./cgroup-places.ts";
import { sendSignal } from "./process-tree.ts";

/** What one group may have at once. */
export type GroupLimits = { readonly memoryBytes: number; readonly processes: number; readonly cpus: number };

/** How often the kernel has killed for want of memory and has refused a process. */
export type GroupCounts = { readonly outOfMemory: number; readonly refusedProcesses: number };

/** A group of processes that the kernel holds to its limits. Calls throw what the file system says. */
export type ControlGroup = {
  readonly folders: readonly string[];
  /** Moves a process in; what it starts from then on is born inside. */
  admit(pid: number): Promise<void>;
  counts(): GroupCounts;
  /** KILL to all in it: at once with v2; with v1 to those that are seen, so call it again until it is empty. */
  kill(): void;
  isEmpty(): boolean;
};

/** The folders that a group of this name has, whether it is there or not. */
export function groupFolders(place: GroupPlace, name: string): readonly string[] {
  const parents = place.kind === "cgroup_v2" ? [place.parent] : [place.memory, place.pids, place.cpu];
  return [...new Set(parents)].map((parent) => join(parent, name));
}

/** Makes the group and sets its limits before anything is in it. What was made is removed again where it throws. */
export function makeControlGroup(place: GroupPlace, name: string, limits: GroupLimits): ControlGroup {
  const folders = groupFolders(place, name);
  try {
    if (place.kind === "cgroup_v2") enableControllers(place.parent);
    for (const folder of folders) mkdirSync(folder);
    return place.kind === "cgroup_v2"
      ? unifiedGroup(join(place.parent, name), limits)
      : v1Group({ memory: join(place.memory, name), pids: join(place.pids, name), cpu: join(place.cpu, name) }, limits);
  } catch (error) {
    removeGroupFolders(folders);
    throw error;
  }
}

/** True where none of them is left. A group that holds a process stays. */
export function removeGroupFolders(folders: readonly string[]): boolean {
  return folders.map(isRemoved).every(Boolean);
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** A group can limit its children only with controllers that it hands down (cgroups(7), "Cgroups v2 subtree control"). */
function enableControllers(parent: string): void {
  const file = join(parent, "cgroup.subtree_control");
  const handedDown = readFileSync(file, "latin1").trim().split(" ");
  const wanted = neededControllers.filter((controller) => !handedDown.includes(controller));
  if (wanted.length > 0) writeFileSync(file, wanted.map((controller) => `+${controller}`).join(" "));
}

const periodUs = 100_000;
const quotaUs = (cpus: number): number => Math.max(1_000, Math.round(cpus * periodUs));

function unifiedGroup(folder: string, limits: GroupLimits): ControlGroup {
  const set = (file: string, value: string | number): void => writeFileSync(join(folder, file), `${value}`);
  set("memory.max", limits.memoryBytes);
  limitSwap(() => set("memory.swap.max", 0));
  set("memory.oom.group", 1);
  set("pids.max", limits.processes);
  set("cpu.max", `${quotaUs(limits.cpus)} ${periodUs}`);
  return {
    folders: [folder],
    ...unifiedMembers(folder),
    counts: () => ({
      outOfMemory: countIn(join(folder, "memory.events"), "oom_kill"),
      refusedProcesses: countIn(join(folder, "pids.events"), "max"),
    }),
  };
}

/** What a v2 group does without any controller: kernels that keep memory and tasks in v1 hierarchies have this much of it too. */
export const unifiedMembers = (folder: string): Pick<ControlGroup, "admit" | "kill" | "isEmpty"> => ({
  admit: (pid) => writeFile(join(folder, "cgroup.procs"), `${pid}`),
  kill: () => writeFileSync(join(folder, "cgroup.kill"), "1"),
  isEmpty: () => countIn(join(folder, "cgroup.events"), "populated") === 0,
});

type V1Folders = { readonly memory: string; readonly pids: string; readonly cpu: string };

function v1Group({ memory, pids, cpu }: V1Folders, limits: GroupLimits): ControlGroup {
  const folders = [...new Set([memory, pids, cpu])];
  const members = (): readonly number[] =>
    folders.flatMap((folder) =>
      readFileSync(join(folder, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number),
    );
  writeFileSync(join(memory, "memory.limit_in_bytes"), `${limits.memoryBytes}`);
  limitSwap(() => writeFileSync(join(memory, "memory.memsw.limit_in_bytes"), `${limits.memoryBytes}`));
  writeFileSync(join(pids, "pids.max"), `${limits.processes}`);
  writeFileSync(join(cpu, "cpu.cfs_period_us"), `${periodUs}`);
  writeFileSync(join(cpu, "cpu.cfs_quota_us"), `${quotaUs(limits.cpus)}`);
  return {
    folders,
    admit: async (pid) => {
      await Promise.all(folders.map((folder) => writeFile(join(folder, "cgroup.procs"), `${pid}`)));
    },
    counts: () => ({
      outOfMemory: countIn(join(memory, "memory.oom_control"), "oom_kill"),
      refusedProcesses: countIn(join(pids, "pids.events"), "max"),
    }),
    kill: () => {
      for (const pid of new Set(members())) if (pid > 0) sendSignal(pid, "SIGKILL");
    },
    isEmpty: () => members().length === 0,
  };
}

/** Kernels without accounting of swap have no such file; that is no gap where the machine has no swap. */
function limitSwap(set: () => void): void {
  try {
    set();
  } catch (error) {
    const [, ...inUse] = readFileSync("/proc/swaps", "latin1").trim().split("\n");
    if (inUse.length > 0) throw error;
  }
}

/** One line of a flat-keyed file. Throws where the kernel does not count it: then nobody would learn of the limit. */
function countIn(file: string, key: string): number {
  const value = new RegExp(`^${key} (\\d+)$`, "m").exec(readFileSync(file, "latin1"))?.[1];
  if (value === undefined) throw new Error(`\`${file}\` has no \`${key}\``);
  return Number(value);
}
