import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive, registerProcess, startTimeOf, sweepLeftovers } from "../../src/store/index.ts";

let home: string;
let process_: ChildProcess;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "countersign-sweep-"));
  process_ = spawn("sleep", ["60"]);
});
afterEach(() => {
  process_.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

const pid = (): number => process_.pid ?? 0;
const aFolder = (path: string): string => {
  mkdirSync(join(home, path), { recursive: true });
  writeFileSync(join(home, path, "file"), "");
  return join(home, path);
};
const records = (): readonly string[] => readdirSync(join(home, "processes"));

/** A record as a process that is gone would have left it: our own, under an owner that never was. */
function orphan(
  registered: { pid?: number; paths?: string[]; mounts?: string[]; cgroups?: string[] },
  change: object = {},
): void {
  registerProcess(home, "sandbox", { pid: null, paths: [], mounts: [], ...registered });
  const [name = ""] = records().filter((entry) => entry.startsWith(`${process.pid}-`));
  const record = JSON.parse(readFileSync(join(home, "processes", name), "utf8"));
  rmSync(join(home, "processes", name));
  const owner = { pid: process.pid, startTime: 1 };
  const left = JSON.stringify({ ...record, owner, ...change });
  writeFileSync(join(home, "processes", `${owner.pid}-${owner.startTime}-0123456789abcdef.json`), left);
}

describe("a living owner", () => {
  it("keeps its process and folders, and forgets them itself", async () => {
    const path = aFolder("work/run-1");
    const release = registerProcess(home, "sandbox", { pid: pid(), paths: [path], mounts: [] });

    expect(await sweepLeftovers(home)).toEqual([]);
    expect(startTimeOf(pid())).not.toBeNull();
    expect(existsSync(path)).toBe(true);
    release();
    release();
    expect(records()).toEqual([]);
  });
});

it("makes a home that others can pass, and a register that they can't read (SEC-47)", () => {
  const fresh = join(home, "fresh");

  registerProcess(fresh, "sandbox", { pid: null, paths: [], mounts: [] });

  expect([statSync(fresh).mode & 0o777, statSync(join(fresh, "processes")).mode & 0o777]).toEqual([0o711, 0o700]);
});

describe("a killed owner", () => {
  it("has its process ended and its folder removed, one line each", async () => {
    const path = aFolder("work/run-1");
    const startTime = startTimeOf(pid()) ?? 0;
    orphan({ pid: pid(), paths: [path] });

    expect(await sweepLeftovers(home)).toEqual([
      `ended sandbox (pid ${pid()}) that a killed process had left`,
      `removed ${path} that a killed process had left`,
    ]);
    expect(isAlive(pid(), startTime)).toBe(false);
    expect(existsSync(path)).toBe(false);
    expect(records()).toEqual([]);
    expect(await sweepLeftovers(home)).toEqual([]);
  });

  it.each([
    ["a process with a reused pid", () => ({ process: { pid: pid(), startTime: 1 } })],
    ["a process of an earlier start of the machine", () => ({ bootId: "earlier" })],
  ])("does not take %s with it", async (_, change) => {
    orphan({ pid: pid() }, change());

    expect(await sweepLeftovers(home)).toEqual([]);
    expect(startTimeOf(pid())).not.toBeNull();
    expect(records()).toEqual([]);
  });

  it.each([
    ["outside home", () => aFolderOutside()],
    ["home itself", () => home],
    ["a folder of home's layout", () => aFolder("work")],
    ["a path that climbs out", () => climbingOut()],
    ["a path through a link that leads out", () => throughLink()],
  ])("does not remove %s", async (_, path) => {
    const target = path();
    orphan({ paths: [target] });

    expect(await sweepLeftovers(home)).toEqual([]);
    expect(existsSync(target)).toBe(true);
    for (const other of outside.splice(0)) rmSync(other, { recursive: true, force: true });
  });

  it("has a record that was cut short thrown away", async () => {
    aFolder("processes");
    writeFileSync(join(home, "processes", `${process.pid}-1-0123456789abcdef.json`), "{");

    expect(await sweepLeftovers(home)).toEqual([]);
    expect(records()).toEqual(["file"]);
  });
});

it("finds nothing in a home that was never used", async () => {
  expect(await sweepLeftovers(join(home, "none"))).toEqual([]);
});

describe("control groups (SEC-61)", () => {
  const group = "countersign-00000000000000bb";
  const parent = groupParent();

  it.runIf(parent !== null)("of a killed owner are emptied and removed", async () => {
    const path = join(parent ?? "", group);
    mkdirSync(path);
    writeFileSync(join(path, "cgroup.procs"), `${pid()}`);
    orphan({ cgroups: [path] });

    expect(await sweepLeftovers(home)).toEqual([`removed the control group ${path} that a killed process had left`]);
    expect(existsSync(path)).toBe(false);
    expect(startTimeOf(pid())).toBeNull();
  });

  it("are not looked for where none are mounted, nor under a name that is not ours", async () => {
    const path = aFolder(`work/${group}`);
    orphan({ cgroups: [path, "/sys/fs/cgroup/memory", `/sys/fs/cgroup/../cgroup/${group}`] });

    expect(await sweepLeftovers(home)).toEqual([]);
    expect(existsSync(path)).toBe(true);
  });
});

/** A v1 hierarchy that we may write, where there is one. */
function groupParent(): string | null {
  const folder = "/sys/fs/cgroup/pids";
  try {
    accessSync(folder, constants.W_OK);
    return existsSync(join(folder, "cgroup.procs")) ? folder : null;
  } catch {
    return null;
  }
}

describe("mounts", () => {
  it.runIf(canMount())("of a killed owner are taken off before their folder is removed", async () => {
    const path = aFolder("work/run 1");
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", path]);
    writeFileSync(join(path, "inside"), "");
    orphan({ paths: [path], mounts: [path] });

    expect(await sweepLeftovers(home)).toEqual([
      `unmounted ${path} that a killed process had left`,
      `removed ${path} that a killed process had left`,
    ]);
    expect(existsSync(path)).toBe(false);
  });

  it.runIf(canMount())("that nobody registered keep their folder from being removed", async () => {
    const path = aFolder("work/run-1");
    mkdirSync(join(path, "mount"));
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(path, "mount")]);
    try {
      orphan({ paths: [path] });

      expect(await sweepLeftovers(home)).toEqual([`could not remove ${path}`]);
      expect(existsSync(join(path, "file"))).toBe(true);
      expect(records()).toHaveLength(1);
    } finally {
      execFileSync("umount", [join(path, "mount")]);
    }
  });
});

const outside: string[] = [];
function aFolderOutside(): string {
  const path = mkdtempSync(join(tmpdir(), "countersign-other-"));
  mkdirSync(join(path, "x"));
  outside.push(path);
  return path;
}

function climbingOut(): string {
  return `${aFolder("work")}/../../${basename(aFolderOutside())}/x`;
}

function throughLink(): string {
  aFolder("work");
  symlinkSync(aFolderOutside(), join(home, "work", "link"));
  return join(home, "work", "link", "x");
}

/** Root may lack the right in a container; an ordinary user always does. */
function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), "countersign-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", path], { stdio: "ignore" });
    execFileSync("umount", [path]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
