import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDemoHome } from "../../src/demo/demo-home.ts";
import { processOwner } from "../../src/store/index.ts";
import { processesOf } from "../support/countersign.ts";

let folder = "";
const notices: string[] = [];
const open = () => openDemoHome(join(folder, "demo-"), (line) => notices.push(line));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-demo-home-"));
  await chmod(folder, 0o711);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** An owner on this machine that is gone. */
function deadOwner(): string {
  const { pid } = spawnSync("true");
  const [bootId] = processOwner().split(":");
  return `${bootId}:${pid}:1`;
}

describe("the folder of a demonstration", () => {
  it("is new, can be passed through by other users, and is gone at the end with all that is in it", async () => {
    const home = await open();
    await mkdir(join(home.folder, "database"));

    expect((await stat(home.folder)).mode & 0o777).toBe(0o711);
    await home[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });

  it("outlives its process where it is kept, and is then nobody's to remove", async () => {
    const home = await open();
    await home.keep();
    await home[Symbol.asyncDispose]();

    await (await open())[Symbol.asyncDispose]();

    expect(existsSync(home.folder)).toBe(true);
  });

  it("is removed by the next demonstration where its own was killed, and by nobody while that lives", async () => {
    const living = await open();
    await mkdir(join(folder, "demo-killed"));
    await writeFile(join(folder, "demo-killed", "demo-owner"), deadOwner());
    await mkdir(join(folder, "demo-of-a-person"));

    const next = await open();

    expect(existsSync(join(folder, "demo-killed"))).toBe(false);
    expect(existsSync(join(folder, "demo-of-a-person"))).toBe(true);
    expect(existsSync(living.folder)).toBe(true);
    await next[Symbol.asyncDispose]();
    await living[Symbol.asyncDispose]();
  });

  it("ends the database of a killed demonstration before its folder goes", async () => {
    const killed = join(folder, "demo-killed");
    const holder = join(import.meta.dirname, "../support/hold-store.ts");
    const options = JSON.stringify({ databaseUrl: null, home: killed, databaseUid: null });
    const child = spawn(process.execPath, [holder, options], { stdio: ["pipe", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    await writeFile(join(killed, "demo-owner"), deadOwner());
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    const before = processesOf(folder);

    await (await open())[Symbol.asyncDispose]();

    expect(line.toString()).toContain('"kind":"open"');
    expect(before).not.toEqual([]);
    expect(processesOf(folder)).toEqual([]);
    expect(existsSync(killed)).toBe(false);
    expect(notices.at(-1)).toMatch(/^ended the embedded database server \(pid \d+\) that a killed process had left$/);
  });
});
