import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownGroupName } from "../../src/store/index.ts";
import { type CgroupView, findUnifiedPlace, findV1Place } from "../../src/workspace/cgroup-places.ts";
import {
  groupFolders,
  makeControlGroup,
  removeGroupFolders,
  unifiedMembers,
} from "../../src/workspace/control-group.ts";
import { anyRung, chooseRung } from "../../src/workspace/index.ts";
import { aHome, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let fake: string;
beforeEach(() => {
  home = aHome();
  fake = mkdtempSync(join(tmpdir(), "countersign-cgroup-"));
});
afterEach(() => {
  home.dispose();
  rmSync(fake, { recursive: true, force: true });
});

const uid = process.geteuid?.() ?? 0;
const mounted = (type: string, folder: string, options: string, root = "/"): string =>
  `30 22 0:27 ${root} ${folder} rw,relatime - ${type} ${type} rw,${options}`;
const view = (mounts: readonly string[], groups: readonly string[], changes: Partial<CgroupView> = {}): CgroupView => ({
  ...{ mountTable: mounts.join("\n"), ownGroups: groups.join("\n"), uid },
  ...changes,
});
/** A folder as the unified hierarchy shows one, with these controllers to hand down. */
function unified(path: string, controllers = "cpuset cpu io memory pids"): string {
  const folder = join(fake, path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.controllers"), `${controllers}\n`);
  writeFileSync(join(folder, "cgroup.subtree_control"), "memory\n");
  return folder;
}

describe("SEC-53: where groups can be made in the unified hierarchy", () => {
  it("is the parent of the service's group where it belongs to the service's user, who is not root", () => {
    unified("system.slice/countersign.service/main");
    const parent = unified("system.slice/countersign.service");
    const seen = [[mounted("cgroup2", fake, "")], ["0::/system.slice/countersign.service/main"]] as const;

    expect(findUnifiedPlace(view(...seen, { uid: uid === 0 ? 0 : uid }), null).kind).toBe(
      uid === 0 ? "none" : "cgroup_v2",
    );
    expect(findUnifiedPlace(view(...seen), parent)).toEqual({ kind: "cgroup_v2", parent });
  });

  it("is the top where the service stands there itself", () => {
    unified(".");

    const found = findUnifiedPlace(view([mounted("cgroup2", fake, "")], ["0::/"]), null);

    expect(found).toEqual({ kind: "cgroup_v2", parent: fake });
  });

  it.each<[string, () => Parameters<typeof findUnifiedPlace>, string]>([
    ["without a hierarchy", () => [view([], ["0::/"]), null], "no cgroup v2 hierarchy"],
    [
      "in a container, whose top is no real one",
      () => [view([mounted("cgroup2", fake, "", "/docker/1")], ["0::/docker/1"]), null],
      "delegated",
    ],
    [
      "that others manage",
      () => [view([mounted("cgroup2", fake, "")], ["0::/user.slice/session"], { uid: 1 }), null],
      "delegated",
    ],
    [
      "without a controller",
      () => [view([mounted("cgroup2", fake, "")], ["0::/"]), unified("named", "cpu pids")],
      "lacks memory",
    ],
    ["outside the hierarchy", () => [view([mounted("cgroup2", join(fake, "x"), "")], ["0::/"]), fake], "is not below"],
  ])("is none %s, and says so", (_case, given, cause) => {
    expect(findUnifiedPlace(...given())).toMatchObject({ kind: "none", cause: expect.stringContaining(cause) });
  });
});

describe("SEC-53: where groups can be made in v1 hierarchies", () => {
  it("is below the service's own group in each, also where a mount shows only a part", () => {
    const mounts = [
      mounted("cgroup", `${fake}/a`, "memory", "/docker/1"),
      mounted("cgroup", `${fake}/b`, "cpu,cpuacct"),
      mounted("cgroup", `${fake}/c`, "pids"),
    ];
    for (const folder of ["a/own", "b/svc", "c"]) mkdirSync(join(fake, folder), { recursive: true });

    const found = findV1Place(view(mounts, ["4:memory:/docker/1/own", "2:cpu,cpuacct:/svc", "8:pids:/"]));

    expect(found).toEqual({ kind: "cgroup_v1", memory: `${fake}/a/own`, cpu: `${fake}/b/svc`, pids: `${fake}/c` });
  });

  it("is none where one of the three is missing", () => {
    const found = findV1Place(view([mounted("cgroup", fake, "memory")], ["4:memory:/", "0::/"]));

    expect(found).toMatchObject({ kind: "none", cause: expect.stringContaining("pids, cpu") });
  });
});

describe("SEC-53: the ladder", () => {
  const nothing = view([], ["0::/"]);

  it("ends at prlimit with the causes, for a loud warning", () => {
    const rung = chooseRung(home.deps, anyRung, nothing);

    expect(rung).toMatchObject({ name: "prlimit", place: null });
    expect(rung.causes).toEqual([
      expect.stringContaining("no cgroup v2 hierarchy"),
      expect.stringContaining("no cgroup v1 hierarchy"),
    ]);
  });

  it.each(["cgroup_v1", "cgroup_v2"] as const)(
    "refuses where `sandbox.rung` demands %s and there is only less",
    (atLeast) => {
      expect(() => chooseRung(home.deps, { ...anyRung, atLeast }, nothing)).toThrow(
        expect.objectContaining({ code: "RUNG_MISSING", message: expect.stringContaining(`demands ${atLeast}`) }),
      );
    },
  );

  it("takes no rung on which a trial group does not work, and leaves nothing of the trial", () => {
    const mounts = ["memory", "pids", "cpu"].map((name) => mounted("cgroup", fake, name)); // an ordinary folder counts nothing

    const rung = chooseRung(home.deps, anyRung, view(mounts, ["4:memory:/", "8:pids:/", "1:cpu:/"]));

    expect(rung.name).toBe("prlimit");
    expect(rung.causes[1]).toContain("cgroup_v1 does not work");
    expect(readdirSync(join(home.deps.home, "processes"))).toEqual([]);
  });
});

const limits = { memoryBytes: 64 * 1024 * 1024, processes: 33, cpus: 0.5 };

describe("SEC-53: a v2 group, as the kernel's documentation has it, in an ordinary folder", () => {
  it("hands down what is missing, and sets every limit before anything is inside", async () => {
    const place = { kind: "cgroup_v2", parent: unified("delegated") } as const;

    const group = makeControlGroup(place, "countersign-0", limits);
    await group.admit(4711);

    const [folder = ""] = group.folders;
    const written = Object.fromEntries(
      readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
    );
    expect(written).toEqual({
      "memory.max": "67108864",
      "memory.swap.max": "0",
      "memory.oom.group": "1",
      "pids.max": "33",
      "cpu.max": "50000 100000",
      "cgroup.procs": "4711",
    });
    expect(readFileSync(join(place.parent, "cgroup.subtree_control"), "utf8")).toBe("+pids +cpu");
  });

  it("is counted, killed and found empty by its own files", () => {
    const group = makeControlGroup({ kind: "cgroup_v2", parent: unified("delegated") }, "countersign-0", limits);
    const [folder = ""] = group.folders;
    writeFileSync(join(folder, "memory.events"), "low 0\nhigh 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n");
    writeFileSync(join(folder, "pids.events"), "max 5\n");
    writeFileSync(join(folder, "cgroup.events"), "populated 1\nfrozen 0\n");

    group.kill();

    expect(group.counts()).toEqual({ outOfMemory: 3, refusedProcesses: 5 });
    expect(group.isEmpty()).toBe(false);
    expect(readFileSync(join(folder, "cgroup.kill"), "utf8")).toBe("1");
  });
});

const realV2 = findUnifiedPlace(
  {
    mountTable: readFileSync("/proc/self/mountinfo", "latin1"),
    ownGroups: readFileSync("/proc/self/cgroup", "latin1"),
    uid,
  },
  null,
);
const realV1 = findV1Place({
  mountTable: readFileSync("/proc/self/mountinfo", "latin1"),
  ownGroups: readFileSync("/proc/self/cgroup", "latin1"),
  uid,
});

/** Contract of a group against the kernel: also AT-24 runs on the best rung of the machine (test/workspace/limits.test.ts). */
describe.each([
  ["cgroup v2", realV2],
  ["cgroup v1", realV1],
] as const)("SEC-53: the contract of a group with the kernel, %s", (name, place) => {
  const cause = place.kind === "none" ? ` (NOT RUN on this machine: ${place.cause})` : "";

  it.skipIf(place.kind === "none")(`counts, refuses, kills and is removed: ${name}${cause}`, async () => {
    if (place.kind === "none") throw new Error("unreachable");
    const folders = groupFolders(place, "countersign-00000000000000aa");
    removeGroupFolders(folders);
    const group = makeControlGroup(place, "countersign-00000000000000aa", limits);
    const child = spawn("sh", ["-c", "read -r _; (true); sleep 60 & sleep 60 & wait"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));

    await group.admit(child.pid ?? 0);
    const wasEmpty = group.isEmpty();
    child.stdin.end("\n");
    group.kill();
    await ended;
    while (!group.isEmpty()) group.kill();

    expect(wasEmpty).toBe(false);
    expect(group.counts()).toEqual({ outOfMemory: 0, refusedProcesses: 0 });
    expect(removeGroupFolders(group.folders)).toBe(true);
  });
});

/** A v2 hierarchy of the kernel's own that may be written, whatever controllers it has: the limits need those, the members do not. */
const unifiedFolder = readFileSync("/proc/self/mountinfo", "latin1")
  .split("\n")
  .map((line) => line.split(" - "))
  .filter(([, after = ""]) => after.startsWith("cgroup2 "))
  .map(([before = ""]) => before.split(" ")[4] ?? "")
  .find((folder) => isWritable(folder));

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe("SEC-53: the members of a v2 group, by the kernel's own files", () => {
  const cause = unifiedFolder === undefined ? " (NOT RUN on this machine: no v2 hierarchy can be written)" : "";

  it.runIf(unifiedFolder !== undefined)(`are taken in, born inside, killed at once and gone${cause}`, async () => {
    const folder = join(unifiedFolder ?? "", ownGroupName("00000000000000cc"));
    mkdirSync(folder);
    const group = unifiedMembers(folder);
    const membersOf = () => readFileSync(join(folder, "cgroup.procs"), "latin1").split("\n").filter(Boolean);
    const child = spawn("sh", ["-c", "read -r _; sleep 60 & sleep 60 & echo started; wait"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ended = once(child, "exit");
    try {
      expect(group.isEmpty()).toBe(true);
      await group.admit(child.pid ?? 0);
      expect(group.isEmpty()).toBe(false);
      child.stdin.end("\n");
      await once(child.stdout, "data");
      expect(membersOf()).toHaveLength(3);

      group.kill();

      expect(await ended).toEqual([null, "SIGKILL"]);
      await expect.poll(() => group.isEmpty()).toBe(true);
      expect(membersOf()).toEqual([]);
    } finally {
      group.kill();
      await expect.poll(() => removeGroupFolders([folder])).toBe(true);
    }
  });
});
