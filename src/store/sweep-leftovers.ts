import { execFile } from "node:child_process";
import { lstat, readFile, realpath, rm } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isOurGroup, removeGroup } from "./control-groups.ts";
import { currentBootId, isAlive, type ProcessIdentity, type Registration, readRegister } from "./process-register.ts";
import { removeFolder } from "./remove-folder.ts";

/** A process that SIGKILL was sent to is gone within this time, unless it hangs in the kernel. */
const endTimeoutMs = 5_000;
const pollMs = 20;

/**
 * Ends the processes that killed owners left behind, removes their groups, mounts and folders, and says what it
 * did, one line each (SEC-61). Touches no reused pid, nothing outside `home`, and no folder that something is still
 * mounted in. Never throws for a single leftover: what could not be removed is said, and tried again at the next start.
 */
export async function sweepLeftovers(home: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { path, ownerIsAlive, record } of readRegister(home)) {
    if (ownerIsAlive) continue;
    const isClean = record === null || (await sweep(home, record, lines));
    if (isClean) await rm(path, { force: true });
  }
  return lines;
}

async function sweep(home: string, record: Registration, lines: string[]): Promise<boolean> {
  let isClean = true;
  const say: Say = (done, failed, isDone) => {
    isClean &&= isDone;
    lines.push(isDone ? `${done} that a killed process had left` : failed);
  };
  if (
    record.process !== null &&
    record.bootId === currentBootId() &&
    isAlive(record.process.pid, record.process.startTime)
  ) {
    const { pid } = record.process;
    const isDone = await endProcess(record.process, "SIGKILL", endTimeoutMs);
    say(`ended ${record.what} (pid ${pid})`, `could not end ${record.what} (pid ${pid})`, isDone);
  }
  await sweepGroups(record.cgroups, say);
  for (const mount of record.mounts) {
    if (!(await isBelow(home, mount)) || !(await mountsIn(mount)).includes(mount)) continue;
    const isDone = await unmount(mount);
    say(`unmounted ${mount}`, `could not unmount ${mount}`, isDone);
  }
  for (const path of record.paths) {
    if (!(await isBelow(home, path)) || !(await exists(path))) continue;
    const isDone = (await mountsIn(path)).length === 0 && (await removeFolder(path));
    say(`removed ${path}`, `could not remove ${path}`, isDone);
  }
  return isClean;
}

type Say = (done: string, failed: string, isDone: boolean) => void;

async function sweepGroups(groups: readonly string[], say: Say): Promise<void> {
  for (const group of groups) {
    if (!(await isOurGroup(group)) || !(await exists(group))) continue;
    say(`removed the control group ${group}`, `could not remove the control group ${group}`, await removeGroup(group));
  }
}

/** Sends the signal and waits. True where the process is gone. Never touches a reused pid. */
export async function endProcess(
  { pid, startTime }: ProcessIdentity,
  signalName: NodeJS.Signals,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  if (isAlive(pid, startTime)) kill(pid, signalName);
  while (isAlive(pid, startTime)) {
    if (performance.now() > deadline) return false;
    await delay(pollMs);
  }
  return true;
}

function kill(pid: number, signalName: NodeJS.Signals): void {
  try {
    process.kill(pid, signalName);
  } catch {
    // Gone between look and signal, or not ours to end: the caller's wait tells which.
  }
}

/**
 * At least two steps below home (`work/run-1`, never `work` itself), and still so with the links of its parent followed:
 * a record that was tampered with can't point elsewhere.
 */
async function isBelow(home: string, path: string): Promise<boolean> {
  const isDeep = (root: string, target: string): boolean => {
    const steps = relative(root, target).split(sep);
    return steps[0] !== ".." && steps.length >= 2;
  };
  if (resolve(path) !== path || !isDeep(resolve(home), path)) return false;
  const parent = await realpath(dirname(path)).catch(() => null);
  return parent !== null && isDeep(await realpath(home), join(parent, "x"));
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Mount points at or below a path. /proc/PID/mountinfo writes blanks as octal numbers (proc(5)). */
async function mountsIn(path: string): Promise<readonly string[]> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  return table
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, digits) =>
        String.fromCharCode(Number.parseInt(digits, 8)),
      ),
    )
    .filter((point) => point === path || point.startsWith(`${path}/`));
}

async function unmount(point: string): Promise<boolean> {
  await promisify(execFile)("umount", ["-l", point]).catch(() => undefined);
  return !(await mountsIn(point)).includes(point);
}
