import { readdir, readFile, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What SIGKILL was sent to is gone within this time, unless it hangs in the kernel. */
const emptyWithinMs = 5_000;
const pollMs = 20;

/**
 * Only a group with the name that the workspace gives its own, in a mounted hierarchy: a record that was tampered with can't
 * point to one of others.
 */
export async function isOurGroup(folder: string): Promise<boolean> {
  if (resolve(folder) !== folder || !/^countersign-[0-9a-f]{16}$/.test(basename(folder))) return false;
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
