import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { CountersignError } from "../domain/index.ts";
import { isGroupName, ownGroupName } from "../store/index.ts";
import {
  type CgroupView,
  type FoundPlace,
  findUnifiedPlace,
  findV1Place,
  type GroupPlace,
  readCgroupView,
} from "./cgroup-places.ts";
import { groupFolders, makeControlGroup, removeGroupFolders } from "./control-group.ts";
import { randomName, type WorkspaceDeps } from "./host.ts";
import { unlessGone } from "./process-tree.ts";
import { type RungName, rungNames } from "./sandbox-limits.ts";

/** The rung in use, and why no better one is. Plain data: made once at the start, given to every workspace. */
export type Rung =
  | { readonly name: "cgroup_v2" | "cgroup_v1"; readonly place: GroupPlace; readonly causes: readonly string[] }
  | { readonly name: "prlimit"; readonly place: null; readonly causes: readonly string[] };

/** From `operator.json`: the least rung that will do, and the delegated folder of the unified hierarchy where one is named. */
export type WantedRung = { readonly atLeast: RungName; readonly cgroupFolder: string | null };

export const anyRung: WantedRung = { atLeast: "prlimit", cgroupFolder: null };

/**
 * The best rung that works here: a group is made for trial on each, best first (SEC-53). Throws RUNG_MISSING where it would be
 * lower than the operator demands.
 */
export function chooseRung(deps: WorkspaceDeps, wanted: WantedRung, view: CgroupView = readCgroupView()): Rung {
  const causes: string[] = [];
  for (const find of [() => findUnifiedPlace(view, wanted.cgroupFolder), () => findV1Place(view)]) {
    const tried = tryPlace(deps, find());
    if (tried.kind !== "none") return atLeast(wanted, { name: tried.kind, place: tried, causes });
    causes.push(tried.cause);
  }
  return atLeast(wanted, { name: "prlimit", place: null, causes });
}

function atLeast({ atLeast: demanded }: WantedRung, rung: Rung): Rung {
  if (rungNames.indexOf(rung.name) <= rungNames.indexOf(demanded)) return rung;
  const cause = `\`sandbox.rung\` demands ${demanded}, and here it is ${rung.name}: ${rung.causes.join("; ")}`;
  throw new CountersignError("RUNG_MISSING", cause);
}

/** As it would be for a run, only empty: what can't be made, limited and counted in is no rung. */
function tryPlace(deps: WorkspaceDeps, place: FoundPlace): FoundPlace {
  if (place.kind === "none") return place;
  const name = groupName(deps);
  const folders = groupFolders(place, name);
  const forget = deps.registerProcess("a control group", { pid: null, paths: [], mounts: [], cgroups: folders });
  try {
    const group = makeControlGroup(place, name, { memoryBytes: 2 ** 30, processes: 512, cpus: 1 });
    group.counts();
    if (!group.isEmpty()) return { kind: "none", cause: `a new group in \`${folders[0]}\` is not empty` };
    return place;
  } catch (error) {
    return { kind: "none", cause: `${place.kind} does not work: ${(error as Error).message}` };
  } finally {
    removeGroupFolders(folders);
    forget();
  }
}

export const groupName = (deps: Pick<WorkspaceDeps, "randomBytes">): string => ownGroupName(randomName(deps));

/** The folders in which the groups of a rung are made; none without groups. */
export const groupParents = ({ place }: Pick<Rung, "place">): readonly string[] =>
  place === null ? [] : groupFolders(place, "x").map((folder) => dirname(folder));

/** Whether a process is in a group that some Countersign on this machine made for a sandbox. */
export function isInSandboxGroup(pid: number): boolean {
  const groups = unlessGone(() => readFileSync(`/proc/${pid}/cgroup`, "latin1"));
  return groups === null || groups.split("\n").some((line) => isGroupName(basename(line)));
}

/** Whether the kernel counts the tasks of each sandbox by itself, so that one user id can serve all (SEC-42). */
export const hasProcessGroup = ({ name }: Pick<Rung, "name">): boolean => name !== "prlimit";

/** One line for people: what is in force, and loud where it is the lowest. */
export function describeRung(rung: Rung): string {
  switch (rung.name) {
    case "cgroup_v2":
      return `cgroup v2 below \`${rung.place.kind === "cgroup_v2" ? rung.place.parent : ""}\``;
    case "cgroup_v1":
      return "cgroup v1 (memory, pids, cpu)";
    case "prlimit":
      return `WARNING: prlimit alone holds the sandboxes, memory and files are only watched: ${rung.causes.join("; ")}`;
  }
}
