import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  anyRung,
  type BaseTree,
  chooseRung,
  type OutputMeter,
  type Rung,
  type SandboxLimits,
  type Workspace,
} from "../../src/workspace/index.ts";
import {
  aBase,
  aConfinement,
  aHome,
  aWorkspace,
  groupFoldersOf,
  never,
  shell,
  type TestHome,
} from "../support/checkout.ts";

const mebibyte = 1024 * 1024;
let home: TestHome;
let base: BaseTree;
let opened: AsyncDisposableStack;

beforeAll(async () => {
  home = aHome();
  base = await aBase(home, { "a.txt": "a\n" });
});
beforeEach(() => {
  opened = new AsyncDisposableStack();
});
afterEach(() => opened.disposeAsync());
afterAll(() => home.dispose());

const here = ((): Rung => {
  const trial = aHome();
  try {
    return chooseRung(trial.deps, anyRung);
  } finally {
    trial.dispose();
  }
})();
const prlimit: Rung = { name: "prlimit", place: null, causes: ["a test asked for it"] };
const rungs = here.name === "prlimit" ? [prlimit] : [here, prlimit];

/** A range of its own: on the lowest rung each run needs an id that owns no process. */
const runUidsOf = (rung: Rung): string => (rung.name === "prlimit" ? "64360-64379" : "64380");

/** A copy: a work folder with a file system of its own is held by that, and watched by nobody (SEC-56). */
async function limited(rung: Rung, limits: Partial<SandboxLimits>, output?: OutputMeter): Promise<Workspace> {
  const confinement = aConfinement(home, { rung, limits, ...(output === undefined ? {} : { output }) });
  return opened.use(await aWorkspace(home, base, { runUids: runUidsOf(rung), confinement, checkout: "copy" }));
}

/** Nothing lives in any group of this home, and a command in the same workspace works as if nothing had been. */
async function expectNextRunWorks(workspace: Workspace): Promise<void> {
  for (const folder of groupFoldersOf(home.deps.home)) {
    expect(readFileSync(join(folder, "cgroup.procs"), "utf8")).toBe("");
  }
  const next = await shell(workspace, "cat a.txt; set -- /proc/[0-9]*; echo $#");
  expect(next).toMatchObject({ exitCode: 0, limit: null, text: "a\n3\n" });
}

/** The same under a limit and under a wider one: mostly waiting, so both wait together. */
const atOnce = (script: string, [narrow, wide]: readonly [Workspace, Workspace]) =>
  Promise.all([shell(narrow, script, 60_000), shell(wide, script, 60_000)]);

/** Holds what the probe has taken, so that who looks from time to time sees it. */
const hold = "sleep 3";

describe.each(rungs)("AT-24, SEC-55, SEC-57: the sandbox on the rung $name", (rung) => {
  it("stops a fork bomb, and the next run works", async () => {
    const workspace = await limited(rung, { processes: 40 });

    const result = await shell(workspace, "bomb() { bomb | bomb & }; bomb; sleep 60", 60_000);

    expect(result).toMatchObject({ exitCode: null, signal: "SIGKILL", limit: { kind: "processes", atMost: 40 } });
    await expectNextRunWorks(workspace);
  });

  it("stops at 40 processes what needs 60, and not at 200 (SEC-132)", async () => {
    const script = `for n in $(seq 60); do sleep 30 & done 2>/dev/null; ${hold}; echo all; kill $(jobs -p)`;

    const [narrow, wide] = await atOnce(script, [
      await limited(rung, { processes: 40 }),
      await limited(rung, { processes: 200 }),
    ]);

    expect(narrow).toMatchObject({ exitCode: null, limit: { kind: "processes" } });
    expect(wide).toMatchObject({ exitCode: 0, limit: null, text: "all\n" });
  });

  it("stops what takes 100 MB with a budget of 32 MiB, and not with 256 MiB", async () => {
    const script = `{ head -c 100000000 /dev/zero; ${hold}; } | tail | head -c 1 >/dev/null; echo had`;
    const workspace = await limited(rung, { memoryBytes: 32 * mebibyte, workBytes: 16 * mebibyte });

    const [narrow, wide] = await atOnce(script, [workspace, await limited(rung, { memoryBytes: 256 * mebibyte })]);

    expect(narrow).toMatchObject({ exitCode: null, limit: { kind: "memory" } });
    expect(wide).toMatchObject({ exitCode: 0, limit: null, text: "had\n" });
    await expectNextRunWorks(workspace);
  });

  it("stops what holds 100 MB of shared memory that no process has resident, and not with 256 MiB", async () => {
    const script = `cat > /tmp/held.py <<'END'
import mmap, time
memory = mmap.mmap(-1, 100_000_000)
for part in range(0, 100_000_000, 4_000_000):
    memory[part:part + 4_000_000] = bytes(4_000_000)
    memory.madvise(mmap.MADV_DONTNEED)
memory.madvise(mmap.MADV_DONTNEED)
time.sleep(4)
END
python3 /tmp/held.py; echo had`;
    const narrow = await limited(rung, { memoryBytes: 64 * mebibyte, workBytes: 16 * mebibyte });

    const wide = await limited(rung, { memoryBytes: 256 * mebibyte });

    const [stopped, had] = await atOnce(script, [narrow, wide]);

    expect(stopped).toMatchObject({ exitCode: null, limit: { kind: "memory" } });
    expect(had).toMatchObject({ exitCode: 0, limit: null, text: "had\n" });
  });

  it("writes no file beyond the limit of one file, and one of that size with a wider limit", async () => {
    const script = "head -c 10000000 /dev/zero > big; stat -c %s big; rm big";
    const workspace = await limited(rung, { fileBytes: mebibyte });

    const narrow = await shell(workspace, script);
    const wide = await shell(await limited(rung, { fileBytes: 20 * mebibyte }), script);

    expect([narrow.text.includes(`${mebibyte}\n`), wide.text]).toEqual([true, "10000000\n"]);
    await expectNextRunWorks(workspace);
  });

  it("stops endless output, and what prints within the limit goes on", async () => {
    const workspace = await limited(rung, { outputBytes: 4 * mebibyte });

    const endless = await shell(workspace, "yes", 60_000);
    const within = await shell(workspace, "yes | head -c 4000000");

    expect(endless).toMatchObject({ exitCode: null, limit: { kind: "output", atMost: 4 * mebibyte } });
    expect(within).toMatchObject({ exitCode: 0, limit: null, stdoutBytes: 4_000_000 });
    await expectNextRunWorks(workspace);
  });

  it("counts the output of all commands of a run, in all its workspaces", async () => {
    const output = { usedBytes: 0 };
    const limits = { runOutputBytes: 1_000_000 };
    const script = "head -c 600000 /dev/zero";

    const first = await shell(await limited(rung, limits, output), script);
    const second = await shell(await limited(rung, limits, output), script);
    const ofAnotherRun = await shell(await limited(rung, limits), script);

    expect(first).toMatchObject({ exitCode: 0, limit: null });
    expect(second).toMatchObject({ exitCode: null, limit: { kind: "run_output", atMost: 1_000_000 } });
    expect(ofAnotherRun).toMatchObject({ exitCode: 0, limit: null });
  });

  it("stops what neither prints nor works, and not what does one of them", async () => {
    const workspace = await limited(rung, { idleMs: 4_000 });
    const others = [await limited(rung, { idleMs: 4_000 }), await limited(rung, { idleMs: 4_000 })] as const;

    const [idle, printing, working] = await Promise.all([
      shell(workspace, "sleep 60", 60_000),
      shell(others[0], "for n in $(seq 10); do sleep 0.5; echo $n; done", 60_000),
      shell(others[1], "until [ $SECONDS -ge 7 ]; do :; done; echo done", 60_000),
    ]);

    expect(idle).toMatchObject({ exitCode: null, limit: { kind: "idle", atMost: 4_000 } });
    expect(printing).toMatchObject({ exitCode: 0, limit: null });
    expect(working).toMatchObject({ exitCode: 0, limit: null, text: "done\n" });
    await expectNextRunWorks(workspace);
  });

  it("takes a daemon in a session of its own along at the end", async () => {
    const workspace = await limited(rung, {});

    const result = await shell(workspace, "setsid --fork sleep 308; echo left");

    expect(result).toMatchObject({ exitCode: 0, text: "left\n", killed: ["sleep"] });
    await expectNextRunWorks(workspace);
  });
});

describe("the names of what outlives a command (ACI-59)", () => {
  it("are not those of a command that still runs, although it stops its supervisor", async () => {
    const script = `sleep 307 & kill -STOP 2; until grep -q "^State:.S" /proc/2/status; do :; done; echo done`;

    const result = await shell(await limited(prlimit, {}), script, 60_000);

    expect(result).toMatchObject({ exitCode: 0, text: "done\n", killed: ["sleep"] });
  });

  it("are twenty at most, visible whatever they are, and the rest is counted", async () => {
    const name = String.raw`$'/tmp/\e]0;\\\n\u00ad'`;
    const script = `cp /bin/sleep ${name}; for n in $(seq 23); do ${name} 309 & done; kill -STOP $!`;

    const { killed } = await shell(await limited(prlimit, {}), script, 60_000);

    expect(killed).toHaveLength(21);
    expect(new Set(killed.slice(0, 20))).toEqual(new Set([String.raw`\x1b]0;\x5c\x0a\xc2\xad`]));
    expect(killed.at(-1)).toBe("\u2026 and 3 more");
  });
});

describe.each(rungs)("SEC-56: a work folder that no file system bounds, on the rung $name", (rung) => {
  it.each<[string, string, Partial<SandboxLimits>, Partial<SandboxLimits>]>([
    [
      "bytes in many files",
      "for n in $(seq 40); do head -c 1000000 /dev/zero > file$n; done",
      { workBytes: 16 * mebibyte },
      { workBytes: 64 * mebibyte },
    ],
    ["files", "for n in $(seq 800); do : > file$n; done", { workInodes: 500 }, { workInodes: 2_000 }],
    [
      "bytes of a file that was removed and is still open",
      "exec 9>file; rm file; head -c 40000000 /dev/zero >&9",
      { workBytes: 16 * mebibyte },
      { workBytes: 64 * mebibyte },
    ],
  ])("is watched: %s", async (_what, script, narrow, wide) => {
    const stopped = await limited(rung, narrow);

    const beyond = await shell(stopped, `${script}; sleep 60`, 60_000);
    const within = await shell(await limited(rung, wide), `${script}; ${hold}; echo done`, 60_000);

    expect(beyond).toMatchObject({ exitCode: null, limit: { kind: expect.stringMatching(/^work_/) } });
    expect(within).toMatchObject({ exitCode: 0, limit: null, text: "done\n" });
    await expectNextRunWorks(stopped);
  });
});

describe("SEC-42: user ids of runs at once", () => {
  const uidOf = (workspace: Workspace): number => statSync(workspace.folder).uid;

  it.runIf(process.geteuid?.() === 0 && here.name !== "prlimit")(
    "are one where a group counts the tasks of each and the range has no more",
    async () => {
      const [first, second] = [await limited(here, {}), await limited(here, {})];

      expect(uidOf(first)).toBe(uidOf(second));
      const both = await Promise.all([shell(first, "echo 1"), shell(second, "echo 2")]);
      expect(both.map(({ text }) => text)).toEqual(["1\n", "2\n"]);
    },
  );

  it.runIf(process.geteuid?.() === 0)(
    "differ where they can, so that no run uses up the kernel's budgets of another",
    async () => {
      const [first, second] = [await limited(prlimit, {}), await limited(prlimit, {})];

      expect(uidOf(first)).not.toBe(uidOf(second));
    },
  );
});

describe("a disposed workspace", () => {
  it("leaves no group behind (SEC-58)", async () => {
    const workspace = await aWorkspace(home, base, { confinement: aConfinement(home) });
    await workspace.exec({ program: { kind: "shell", script: "true" }, timeoutMs: 20_000 }, never);
    const groups = groupFoldersOf(home.deps.home);

    await workspace[Symbol.asyncDispose]();

    expect(groups.filter(existsSync)).toEqual([]);
    expect(groups.length > 0).toBe(here.name !== "prlimit");
  });
});
