import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where control groups can be made below: one folder of the unified hierarchy, or one of each v1 hierarchy that is needed. */
export type GroupPlace =
  | { readonly kind: "cgroup_v2"; readonly parent: string }
  | { readonly kind: "cgroup_v1"; readonly memory: string; readonly pids: string; readonly cpu: string };

/** What a process can see of control groups; replaced in tests. */
export type CgroupView = {
  /** The text of `/proc/self/mountinfo` and of `/proc/self/cgroup` (proc_pid_mountinfo(5), cgroups(7)). */
  readonly mountTable: string;
  readonly ownGroups: string;
  readonly uid: number;
};

export const readCgroupView = (): CgroupView => ({
  mountTable: readFileSync("/proc/self/mountinfo", "latin1"),
  ownGroups: readFileSync("/proc/self/cgroup", "latin1"),
  uid: process.geteuid?.() ?? 0,
});

/** The controllers without which there is no rung of control groups (SEC-53). */
export const neededControllers = ["memory", "pids", "cpu"] as const;

/** A place, or why there is none: one clause for a person. */
export type FoundPlace = GroupPlace | { readonly kind: "none"; readonly cause: string };

const none = (cause: string): FoundPlace => ({ kind: "none", cause });

/**
 * A delegated folder of the unified hierarchy: the one that the operator names, or the parent of the service's own group where
 * it belongs to the service's user (systemd: `Delegate=yes` with `DelegateSubgroup=`), or the top of the hierarchy. A group
 * that others manage is never taken, and root could write them all: what it may use it has to be told.
 */
export function findUnifiedPlace(view: CgroupView, named: string | null): FoundPlace {
  const mount = mountsOf(view).find(({ type }) => type === "cgroup2");
  if (mount === undefined) return none("no cgroup v2 hierarchy is mounted");
  const own = folderOf(mount, groupsOf(view).get("") ?? null);
  const parent = named ?? (own === null ? null : delegatedParent(own, mount, view.uid));
  if (parent === null) return none("no cgroup v2 folder is delegated to the service (`sandbox.cgroup` can name one)");
  if (parent !== mount.folder && !parent.startsWith(`${mount.folder}/`)) {
    return none(`\`${parent}\` is not below \`${mount.folder}\``);
  }
  const missing = missingControllers(parent);
  if (missing.length > 0) return none(`\`${parent}\` lacks ${missing.join(", ")}`);
  return isWritable(parent) ? { kind: "cgroup_v2", parent } : none(`\`${parent}\` can't be written`);
}

function delegatedParent(own: string, mount: Mount, uid: number): string | null {
  if (own === mount.folder) return mount.root === "/" ? own : null;
  const parent = dirname(own);
  try {
    return uid !== 0 && statSync(parent).uid === uid ? parent : null;
  } catch {
    return null;
  }
}

function missingControllers(folder: string): readonly string[] {
  try {
    const available = readFileSync(join(folder, "cgroup.controllers"), "latin1").trim().split(" ");
    return neededControllers.filter((name) => !available.includes(name));
  } catch {
    return neededControllers;
  }
}

/** The service's own group in each v1 hierarchy: limits that already stand there stay in force. */
export function findV1Place(view: CgroupView): FoundPlace {
  const groups = groupsOf(view);
  const mounts = mountsOf(view).filter(({ type }) => type === "cgroup");
  const folders = neededControllers.map((controller) => {
    const mount = mounts.find(({ options }) => options.includes(controller));
    return mount === undefined ? null : folderOf(mount, groups.get(controller) ?? null);
  });
  const missing = neededControllers.filter((_, at) => folders[at] === null);
  if (missing.length > 0) return none(`no cgroup v1 hierarchy for ${missing.join(", ")}`);
  const closed = folders.find((folder) => folder !== null && !isWritable(folder));
  if (closed !== undefined) return none(`\`${closed}\` can't be written`);
  const [memory = "", pids = "", cpu = ""] = folders.map((folder) => folder ?? "");
  return { kind: "cgroup_v1", memory, pids, cpu };
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

type Mount = {
  readonly type: string;
  /** The group that the mount shows as its top. */
  readonly root: string;
  readonly folder: string;
  readonly options: readonly string[];
};

function mountsOf({ mountTable }: CgroupView): readonly Mount[] {
  return mountTable.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", folder = ""] = before.split(" ");
    const [type = "", , options = ""] = after.split(" ");
    return type.startsWith("cgroup") ? [{ type, root, folder, options: options.split(",") }] : [];
  });
}

/** The service's own group by controller; that of the unified hierarchy under the empty name. */
function groupsOf({ ownGroups }: CgroupView): ReadonlyMap<string, string> {
  return new Map(
    ownGroups.split("\n").flatMap((line) => {
      const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return controllers === undefined || path === undefined
        ? []
        : controllers.split(",").map((name): [string, string] => [name, path]);
    }),
  );
}

function folderOf(mount: Mount, group: string | null): string | null {
  if (group === null || group.startsWith("/..")) return null; // outside what this mount shows
  const root = mount.root === "/" ? "" : mount.root;
  if (group !== root && !group.startsWith(`${root}/`)) return null;
  const below = group.slice(root.length);
  return below === "/" || below === "" ? mount.folder : `${mount.folder}${below}`;
}
