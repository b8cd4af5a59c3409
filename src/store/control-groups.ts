import { readdir, readFile, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ownerState, processOwner } from "./process-owner.ts";
import { currentBootId } from "./process-register.ts";

/** What SIGKILL was sent to is gone within this time, unless it hangs in the kernel. */
const emptyWithinMs = 5_000;
const pollMs = 20;

/** Names of earlier versions told nobody's process. */
const nameForm = /^countersign-(?:(?<namespace>\d+)-(?<pid>\d+)-(?<startTime>\d+)-)?[0-9a-f]{16}$/;

/** Whether some Countersign gives its control groups names of this form. */
export const isGroupName = (name: string): boolean => nameForm.test(name);

/** The name tells who made the group, also where every record of it is lost. `random`: 16 hexadecimal digits. */
export function ownGroupName(random: string): string {
  const [, namespace, pid, startTime] = /\/(\d+):(\d+):(\d+)$/.exec(processOwner()) ?? [];
  return `countersign-${namespace}-${pid}-${startTime}-${random}`;
}

/** Groups below the parents that killed processes left behind, whatever their service folder was. */
export async function abandonedGroups(parents: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    [...new Set(parents)].map(async (parent) => {
      const names = await readdir(parent).catch((): string[] => []);
      return names.filter(isAbandoned).map((name) => join(parent, name));
    }),
  );
  return found.flat();
}

/** One of another container is nobody's here: its owner's pid counts there (pid_namespaces(7)). */
function isAbandoned(name: string): boolean {
  const { namespace, pid, startTime } = nameForm.exec(name)?.groups ?? {};
  return pid !== undefined && ownerState(`${currentBootId()}/${namespace}:${pid}:${startTime}`) === "dead";
}

/** Ends and removes what `abandonedGroups` finds, and says so in one line each (SEC-61). One of another user stays, unsaid. */
export async function sweepAbandonedGroups(parents: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const group of await abandonedGroups(parents)) {
    if (await removeGroup(group)) lines.push(`removed the control group ${group} that a killed process had left`);
  }
  return lines;
}

/**
 * Only a group with the name that the workspace gives its own, in a mounted hierarchy: a record that was tampered with can't
 * point to one of others.
 */
export async function isOurGroup(folder: string): Promise<boolean> {
  if (resolve(folder) !== folder || !isGroupName(basename(folder))) return false;
  const table = await readFile("/proc/self/mountinfo", "latin1");
  return table.split("\n").some((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , , mounted = ""] = before.split(" ");
    return after.startsWith("cgroup") && (folder === mounted || folder.startsWith(`${mounted}/`));
  });
}

/** Ends what is in the group and removes it; true where it is gone. */
export async function removeGroup(folder: string): Promise<boolean> {
  for (const startedAt = performance.now(); performance.now() - startedAt < emptyWithinMs; await delay(pollMs)) {
    for (const pid of await membersOf(folder)) kill(pid);
    if (await isRemoved(folder)) return true;
  }
  return false;
}

async function membersOf(folder: string): Promise<readonly number[]> {
  const text = await readFile(join(folder, "cgroup.procs"), "latin1").catch(() => "");
  return text
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 0);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // ended meanwhile
  }
}

async function isRemoved(folder: string): Promise<boolean> {
  await rmdir(folder).catch(() => undefined);
  return !(await readdir(dirname(folder)).catch((): string[] => [])).includes(basename(folder));
}
