import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { abandonedGroups, isAlive } from "../../src/store/index.ts";
import { anyRung, chooseRung, groupParents } from "../../src/workspace/index.ts";

/**
 * What a sandbox could have touched or left behind. Other suites and services run on the same machine: so the kernel's settings
 * and the host's own files are compared as they are, since nobody else changes those while tests run; of all the rest counts
 * only what belongs to us and whose owner has ended.
 */
export type MachineState = {
  /** Content by path. */
  readonly settings: ReadonlyMap<string, string>;
  /** Facts by path. */
  readonly files: ReadonlyMap<string, string>;
  /** One line each, as a person would name it. */
  readonly leftovers: ReadonlySet<string>;
};

/** In the names of the folders that a run of vitest makes for its homes (test/support/checkout.ts): mounts below others' are theirs. */
export const markOf = (testRun: number): string => `-of-${testRun}-`;

/**
 * User ids of sandboxes in tests (test/support/checkout.ts), flows and the demo, and of tests themselves (test/support/ordinary-user.ts);
 * an ordinary user has its own alone.
 */
const runUids = { first: 64_200, last: 64_499 };
const ownUid = process.geteuid?.() ?? 0;
const isRunUid = (uid: number): boolean =>
  ownUid === 0 ? uid >= runUids.first && uid <= runUids.last : uid === ownUid;

/** `testRun`: the pid of the vitest whose own processes count as ended, since none of its tests runs any more. */
export async function readMachine(testRun: number, folderMark = markOf(testRun)): Promise<MachineState> {
  const hasEnded = (pid: number): boolean => descendsFrom(pid, testRun);
  return {
    settings: readSettings("/proc/sys"),
    files: new Map(guarded.flatMap((path) => factsOf(path))),
    leftovers: new Set([
      ...leftMounts(hasEnded, folderMark),
      ...(await leftGroups()),
      ...leftProcesses(hasEnded),
      ...leftMemory(),
      ...leftFiles(testRun),
    ]),
  };
}

/**
 * What differs, one line each; none where the machine is as it was. A process that was just killed is gone a moment later,
 * another suite's leftovers go with its next start: only what is seen each time until the time is up counts.
 */
export async function machineDifferences(before: MachineState, testRun: number, withinMs = 60_000) {
  const startedAt = performance.now();
  let found = differences(before, await readMachine(testRun));
  while (found.length > 0 && performance.now() - startedAt < withinMs) {
    await delay(100);
    const again = new Set(differences(before, await readMachine(testRun)));
    found = found.filter((line) => again.has(line));
  }
  return found;
}

export function differences(before: MachineState, after: MachineState): readonly string[] {
  return [
    ...changed("kernel setting", before.settings, after.settings),
    ...changed("file of the host", before.files, after.files),
    ...[...after.leftovers].filter((line) => !before.leftovers.has(line)).map((line) => `left behind: ${line}`),
  ];
}

function changed(what: string, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${what} ${name}: was ${before.get(name) ?? "not there"}, is ${after.get(name) ?? "not there"}`);
}

/** The kernel's own counters that can be written too (proc_sys_kernel(5)), and settings of other network users. */
const moving = new Set(["/proc/sys/kernel/ns_last_pid"]);

/** What may be written is a setting; what may only be read is a state, and moves by itself. */
function readSettings(folder: string): ReadonlyMap<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths.flatMap((path): [string, string][] => {
      const { mode } = lstatSync(path);
      if ((mode & 0o222) === 0 || (mode & 0o444) === 0 || moving.has(path)) return [];
      return readable(path).map((text) => [path, text.trim()]);
    }),
  );
}

/** What attacks aim at, and folders in which a file would have to be made for the host to use it. */
const guarded =
  "/etc/passwd /etc/group /etc/shadow /etc/hosts /etc/resolv.conf /etc/ld.so.preload /etc/sudoers /etc/cron.d /etc/profile.d /usr /usr/bin /usr/lib /usr/local/bin /root /root/.ssh /bin /lib /sbin".split(
    " ",
  );

function factsOf(path: string): [string, string][] {
  try {
    const { mode, uid, gid, ino, size, mtimeMs } = lstatSync(path);
    const isFolder = (mode & 0o170000) === 0o040000;
    const whatIsIn = isFolder ? readdirSync(path).length : `${size} bytes, changed at ${mtimeMs}`;
    return [[path, `${mode.toString(8)} ${uid}:${gid}, inode ${ino}, ${whatIsIn}`]];
  } catch {
    return [];
  }
}

/** Points at or below a folder of ours that no living process has on record. Other programs, and other suites, mount for themselves. */
function leftMounts(hasEnded: (pid: number) => boolean, folderMark: string): readonly string[] {
  const points = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replace(/\\040/g, " "))
    .filter((point) => point.includes(folderMark) || isGuarded(point));
  return points.filter((point) => !isRecorded(point, hasEnded)).map((point) => `the mount ${point}`);
}

const isGuarded = (point: string): boolean =>
  guarded.includes(point) || /^\/(etc|usr|root|boot|proc\/sys)\//.test(`${point}/`);

/** Whether the register of a home above the mount names it, by a process that lives (`src/store/process-register.ts`). */
function isRecorded(point: string, hasEnded: (pid: number) => boolean): boolean {
  const parts = point.split(sep);
  return parts.some((_, count) => {
    const register = join(parts.slice(0, count + 1).join(sep) || "/", "processes");
    return namesIn(register).some((name) => {
      const [pid = "0", startTime = "0"] = name.split("-");
      if (!isAlive(Number(pid), Number(startTime)) || hasEnded(Number(pid))) return false;
      return readable(join(register, name)).some((text) => text.includes(JSON.stringify(point).slice(1, -1)));
    });
  });
}

/** Where the groups of sandboxes are made on this machine; nowhere without control groups. */
export function groupParentsHere(): readonly string[] {
  const deps = { home: "/", searchPath: "", registerProcess: () => () => undefined, randomBytes };
  return groupParents(chooseRung(deps, anyRung));
}

async function leftGroups(): Promise<readonly string[]> {
  return (await abandonedGroups(groupParentsHere())).map((folder) => `the control group ${folder}`);
}

type Running = {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  readonly name: string;
  readonly isGone: boolean;
  readonly namespace: string | null;
};

function runningNow(): ReadonlyMap<number, Running> {
  const pids = namesIn("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(pids.map(Number).map((pid) => [pid, factsOfProcess(pid)]));
}

function factsOfProcess(pid: number): Running {
  const status = readable(`/proc/${pid}/status`).join("");
  const field = (name: string): string => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? "";
  const isGone = status === "" || /^[ZX]/.test(field("State"));
  return {
    pid,
    parent: Number(field("PPid")),
    uid: Number(field("Uid")),
    name: field("Name"),
    isGone,
    namespace: namespaceOf(pid),
  };
}

/** Of a run uid, in a PID namespace of its own, and without a service above it that lives and would end it. */
function leftProcesses(hasEnded: (pid: number) => boolean): readonly string[] {
  const own = namespaceOf(process.pid);
  const running = runningNow();
  const isServed = (one: Running): boolean => {
    const above = running.get(one.parent);
    if (above === undefined || above.pid === 1 || above.isGone) return false;
    return /node|vitest|MainThread/.test(above.name) ? !hasEnded(above.pid) : isServed(above);
  };
  return [...running.values()]
    .filter((one) => !one.isGone && isRunUid(one.uid) && one.namespace !== own && one.namespace !== null)
    .filter((one) => !isServed(one))
    .map(({ pid, name }) => `process ${pid} (${name})`);
}

/** System V objects of a run uid: they outlive their makers (sysvipc(7)). */
function leftMemory(): readonly string[] {
  return ["shm", "sem", "msg"].flatMap((kind) => {
    const [head = "", ...rows] = readable(`/proc/sysvipc/${kind}`).join("").trimEnd().split("\n");
    const column = head.trim().split(/\s+/).indexOf("uid");
    if (ownUid !== 0) return [];
    return rows
      .map((row) => row.trim().split(/\s+/))
      .filter((fields) => isRunUid(Number(fields[column])))
      .map(([key, id]) => `System V ${kind} ${id} with key ${key}`);
  });
}

/** Where anybody may make files: none there is a run uid's, but for the homes of tests of another vitest that still runs as one. */
function leftFiles(testRun: number): readonly string[] {
  if (ownUid !== 0) return [];
  const isInUse = (name: string): boolean => {
    const maker = Number(/-of-(\d+)-/.exec(name)?.[1] ?? testRun);
    return maker !== testRun && existsSync(`/proc/${maker}`);
  };
  return [tmpdir(), "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => !isInUse(name))
      .map((name) => join(folder, name))
      .filter((path) => isRunUid(lstatSync(path, { throwIfNoEntry: false })?.uid ?? 0))
      .map((path) => `the file ${path}`),
  );
}

function descendsFrom(pid: number, ancestor: number): boolean {
  for (let above = factsOfProcess(pid).parent; above > 1; above = factsOfProcess(above).parent) {
    if (above === ancestor) return true;
  }
  return false;
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null;
  }
}

/** The text of a file in a list of one; none where it can't be read. */
function readable(path: string): readonly string[] {
  try {
    return [readFileSync(path, "utf8")];
  } catch {
    return [];
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
