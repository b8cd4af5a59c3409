import { afterAll, beforeAll, expect, it } from "vitest";
import {
  anyRung,
  type BaseTree,
  chooseRung,
  type SandboxLimits,
  sandboxesAtOnce,
  type TreeReading,
} from "../../src/workspace/index.ts";
import { aBase, aConfinement, aHome, aWorkspace, shell, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let base: BaseTree;
beforeAll(async () => {
  home = aHome();
  base = await aBase(home, { "a.txt": "a\n" });
});
afterAll(() => home.dispose());

const small: Partial<SandboxLimits> = {
  ...{ processes: 25, memoryBytes: 134_217_728, outputBytes: 1_000_000, idleMs: 3_000 },
  ...{ fileBytes: 1_048_576, workInodes: 500 },
};

/** Each command and the limit that it must meet, or how it ends; one after another in one workspace. */
const commands: readonly [string, string | number][] = [
  ["bomb() { bomb | bomb & }; bomb; sleep 60", "processes"],
  ["{ head -c 200000000 /dev/zero; sleep 60; } | tail", "memory"],
  ["yes", "output"],
  ["sleep 60", "idle"],
  ["head -c 10000000 /dev/zero > big; [ $(stat -c %s big) = 1048576 ]", 0],
  ["for n in $(seq 800); do : > file$n; done; sleep 1; until false; do :; done", "work_inodes"],
  ["rm -f file*; cat a.txt", 0],
];

/** Holds shared memory that is resident nowhere, and would close its `/proc` to the service: PR_SET_DUMPABLE is 4. */
const hiding = `cat > /tmp/held.py <<'END'
import ctypes, mmap, time
ctypes.CDLL(None).prctl(4, 0)
memory = mmap.mmap(-1, 200_000_000)
for part in range(0, 200_000_000, 4_000_000):
    memory[part:part + 4_000_000] = bytes(4_000_000)
    memory.madvise(mmap.MADV_DONTNEED)
memory.madvise(mmap.MADV_DONTNEED)
time.sleep(60)
END
python3 /tmp/held.py`;

const causesOf = (reading: TreeReading): readonly string[] => (reading.kind === "refused" ? reading.causes : []);

// Short of what test/workspace/limits.test.ts shows where all tests run as an ordinary user.
it("AT-24, SEC-42: a service of an ordinary user holds its sandboxes on the rung that it has", async () => {
  const rung = chooseRung(home.deps, anyRung);
  await using workspace = await aWorkspace(home, base, {
    runUids: null,
    confinement: aConfinement(home, { rung, limits: small }),
  });

  for (const [script, end] of [...commands, [hiding, "memory"] as const]) {
    const { limit, exitCode } = await shell(workspace, script, 60_000);

    expect(limit?.kind ?? exitCode, script).toBe(end);
  }

  expect(process.geteuid?.()).not.toBe(0);
  expect(sandboxesAtOnce(null, rung)).toBe(rung.name === "prlimit" ? 1 : Number.POSITIVE_INFINITY);
  for (const path of [".", "dir"]) {
    await shell(workspace, `mkdir -p dir; touch dir/x; chmod 0 ${path}`);
    const causes = [...causesOf(await workspace.takeChanges()), ...causesOf(await workspace.readBack())];
    const cause = `"${path}" is a folder that is closed to its owner (mode 0000)`;
    expect(causes).toEqual([cause, cause]);
  }
  expect((await shell(workspace, "chmod 755 dir; rm -r dir")).exitCode).toBe(0);
  expect((await workspace.readBack()).kind).toBe("read");
});
