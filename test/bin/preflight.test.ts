import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-preflight-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A program that only tells its version. */
async function pretend(program: string, versionLine: string): Promise<void> {
  await writeFile(join(folder, program), `#!/bin/sh\necho "${versionLine}"\n`);
  await chmod(join(folder, program), 0o755);
}

type Ended = { readonly status: number | null; readonly stderr: string; readonly stdout: string };

/** Runs a file of `bin` where only the programs of `folder` are found; `as` changes what the process says of its machine. */
function start(file: string, argv: readonly string[] = [], as = ""): Ended {
  const disguise = as === "" ? [] : ["--import", `data:text/javascript,${encodeURIComponent(as)}`];
  return spawnSync(process.execPath, [...disguise, join(root, "bin", file), ...argv], {
    env: { PATH: folder },
    encoding: "utf8",
  });
}

const asSystem = (platform: string, arch: string): string =>
  `Object.defineProperty(process,"platform",{value:"${platform}"});Object.defineProperty(process,"arch",{value:"${arch}"});`;
const asNode = (version: string): string =>
  `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}});`;

describe("the preflight", () => {
  it("passes where all programs are there, without a word", async () => {
    await pretend("git", "git version 2.39.5");
    await pretend("bwrap", "bubblewrap 0.8.0");
    await pretend("prlimit", "prlimit from util-linux 2.38.1");

    const ended = start("preflight.mjs");

    expect(ended).toMatchObject({ status: 0, stderr: "", stdout: "" });
  });

  it("names every program that is missing or too old in one line, with what to type, and ends with 2", async () => {
    await pretend("git", "git version 2.39.5");
    await pretend("bwrap", "bubblewrap 0.6.1");

    const ended = start("preflight.mjs", ["--tests"]);

    expect(ended.status).toBe(2);
    expect(ended.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(ended.stderr).toContain("bwrap 0.8.0 or newer (found 0.6.1)");
    expect(ended.stderr).toContain("python3 (not found)");
    expect(ended.stderr).toContain("type: sudo apt-get install bubblewrap util-linux python3 make");
    expect(ended.stderr).not.toContain("git ");
  });

  it("takes a version with more digits for newer", async () => {
    await pretend("git", "git version 10.0");
    await pretend("bwrap", "bubblewrap 0.11.0");
    await pretend("prlimit", "prlimit from util-linux 2.41");

    expect(start("preflight.mjs").status).toBe(0);
  });

  it("asks for python3 and make before the tests alone", async () => {
    await pretend("git", "git version 2.39.5");
    await pretend("bwrap", "bubblewrap 0.8.0");
    await pretend("prlimit", "prlimit from util-linux 2.38.1");

    expect(start("preflight.mjs").status).toBe(0);
    expect(start("preflight.mjs", ["--tests"]).status).toBe(2);
  });

  it.each([
    ["darwin", "arm64"],
    ["win32", "x64"],
    ["linux", "arm64"],
  ])("prints the container command on %s %s and ends with 2", (platform, arch) => {
    for (const file of ["preflight.mjs", "countersign.mjs"]) {
      const ended = start(file, ["--version"], asSystem(platform, arch));

      expect(ended.status).toBe(2);
      expect(ended.stderr).toContain(`got ${platform} on ${arch}, needs Linux on x64`);
      expect(ended.stderr).toContain("docker run --rm -it");
      expect(ended.stdout).toBe("");
    }
  });
});

describe("the command", () => {
  it("changes over to the pinned Node.js where it was started by an older one, and keeps arguments and exit code", () => {
    const help = start("countersign.mjs", ["--version"], asNode("20.20.2"));
    const wrong = start("countersign.mjs", ["no-such-command"], asNode("20.20.2"));

    expect(help.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(help.status).toBe(0);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain("no-such-command");
  });

  it("finds its own files when it is called by a link from another folder", async () => {
    await mkdir(join(folder, "bin"));
    await symlink(join(root, "bin/countersign.mjs"), join(folder, "bin/countersign"));

    const ended = spawnSync(process.execPath, [join(folder, "bin/countersign"), "--version"], {
      encoding: "utf8",
      cwd: "/",
    });

    expect(ended.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
