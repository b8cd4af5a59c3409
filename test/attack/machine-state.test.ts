import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownGroupName, registerProcess, sweepAbandonedGroups } from "../../src/store/index.ts";
import { aHome, type TestHome } from "../support/checkout.ts";
import { openAttackRoom } from "./in-sandbox.ts";
import {
  differences,
  groupParentsHere,
  type MachineState,
  machineDifferences,
  markOf,
  readMachine,
} from "./machine-state.ts";

/** The comparison around the whole suite (`machine-setup.ts`) is only worth what it finds: here each kind is left behind once. */
const nobody = 0; // no vitest: only what has ended by itself counts as ended
const asRoot = process.geteuid?.() === 0;
let home: TestHome;
let before: MachineState;

beforeAll(async () => {
  home = aHome();
  before = await readMachine(nobody, markOf(process.ppid));
});
afterAll(() => home.dispose());

const found = async (): Promise<readonly string[]> =>
  differences(before, await readMachine(nobody, markOf(process.ppid)));

const randomName = (): string => `cs-${randomBytes(4).toString("hex")}`;

/** The name of a group of a process that has ended. */
async function abandonedName(): Promise<string> {
  const child = spawn("true");
  await once(child, "exit");
  return ownGroupName(randomBytes(8).toString("hex")).replace(`-${process.pid}-`, `-${child.pid}-`);
}

describe("the machine before and after (SEC-61)", () => {
  it("is as it was after a sandbox has run and is gone", async () => {
    {
      await using room = await openAttackRoom(home);
      await room.shell("setsid sleep 60 & echo x >left");
    }

    expect(await machineDifferences(before, nobody)).toEqual([]);
  });

  it.runIf(asRoot)("differs by a mount that no living process has on record", async () => {
    const point = join(home.deps.home, "work", "left behind");
    mkdirSync(point, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", point]);
    try {
      expect(await found()).toContain(`left behind: the mount ${point}`);
      const forget = registerProcess(home.deps.home, "a work folder", { pid: null, paths: [], mounts: [point] });
      expect(await found()).not.toContain(`left behind: the mount ${point}`);
      forget();
    } finally {
      execFileSync("umount", [point]);
    }
  });

  const parents = groupParentsHere();
  it.runIf(parents.length > 0)(
    "differs by a control group whose maker has ended, until a start sweeps it",
    async () => {
      const [abandoned, own] = [await abandonedName(), ownGroupName(randomBytes(8).toString("hex"))];
      const [parent = ""] = parents;
      for (const name of [abandoned, own]) mkdirSync(join(parent, name));
      const line = `the control group ${join(parent, abandoned)}`;
      try {
        expect(await found()).toContain(`left behind: ${line}`);
        expect((await found()).join()).not.toContain(own);
      } finally {
        rmdirSync(join(parent, own));
        expect(await sweepAbandonedGroups(parents)).toContain(`removed ${line} that a killed process had left`);
      }
      expect((await found()).join()).not.toContain(abandoned);
    },
  );

  it.runIf(asRoot)("differs by a sandboxed process without a service, and not by one that has one", async () => {
    const ids = "--reuid 64398 --regid 64398 --clear-groups";
    const [servedName, leftName] = [randomName(), randomName()];
    const sandboxed = (name: string) =>
      `unshare --pid --fork setpriv ${ids} sh -c 'printf ${name} >/proc/self/comm; echo ready; read -r _'`;
    const served = spawn("sh", ["-c", sandboxed(servedName)], { stdio: ["pipe", "pipe", "ignore"] });
    await once(served.stdout, "data");
    const script = `${sandboxed(leftName)} <&3 & exit`;
    const left = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore", "pipe"] });
    const said = once(left.stdout as Readable, "data");
    await once(left, "exit");
    await said;

    const lines = await found();
    for (const input of [served.stdin, left.stdio[3]]) (input as Writable).end("\n");
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^left behind: process \\d+ \\(${leftName}\\)$`)));
    expect(lines.join()).not.toContain(servedName);
    expect(await machineDifferences(before, nobody)).toEqual([]);
  });

  it.runIf(asRoot)("differs by a file of a run uid where anybody may make one", async () => {
    const path = join(tmpdir(), `countersign-left-${randomBytes(4).toString("hex")}`);
    writeFileSync(path, "");
    chownSync(path, 64_398, 64_398);
    try {
      expect(await found()).toContain(`left behind: the file ${path}`);
    } finally {
      rmSync(path);
    }
  });

  it("differs by a kernel setting or a file of the host, with what it was and is", () => {
    const core = "/proc/sys/kernel/core_pattern";
    const after = {
      ...before,
      settings: new Map([...before.settings, [core, "|/tmp/x"]]),
      files: new Map([...before.files, ["/etc/ld.so.preload", "100644 0:0"]]),
    };

    expect(differences(before, before)).toEqual([]);
    expect(differences(before, after)).toEqual([
      `kernel setting ${core}: was ${before.settings.get(core)}, is |/tmp/x`,
      "file of the host /etc/ld.so.preload: was not there, is 100644 0:0",
    ]);
    expect([...before.settings.keys()]).toEqual(expect.arrayContaining([core, "/proc/sys/vm/overcommit_memory"]));
  });
});
