import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError } from "../../src/domain/index.ts";
import { type Confinement, openConfinement } from "../../src/workspace/confinement.ts";
import { anyRung, chooseRung } from "../../src/workspace/index.ts";
import { makeWorkFolder } from "../../src/workspace/make-work-folder.ts";
import { runInSandbox } from "../../src/workspace/sandbox.ts";
import { makeSandboxFolders } from "../../src/workspace/sandbox-place.ts";
import { aBase, aConfinement, aHome, aWorkspace, never, noTools, shell, type TestHome } from "../support/checkout.ts";

const owner = process.geteuid?.() === 0 ? { uid: 64_390, gid: 64_390 } : null;
let home: TestHome;
beforeAll(() => {
  home = aHome();
});
afterAll(() => home.dispose());

let made = 0;
/** Runs a command in a sandbox whose confinement is the real one but for what a test replaces. */
async function runConfined(script: string, changes: Partial<Confinement>) {
  await using confinement = openConfinement(home.deps, { ...aConfinement(home), isWorkBounded: true });
  const folder = join(home.folder, `confined-${made++}`);
  mkdirSync(folder);
  const place = {
    ...(await makeSandboxFolders(home.deps, folder, owner)),
    ...{ toolsFolder: noTools(home), toolchains: [], environment: {}, seccompFilter: null, owner },
    confinement: { ...confinement, ...changes },
    workFolder: makeWorkFolder(join(folder, "tree"), owner),
  };
  const request = { program: { kind: "shell", script }, timeoutMs: 20_000 } as const;
  const error = await runInSandbox(home.deps, place, request, never).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, hasStarted: existsSync(join(place.workFolder, "started")) };
}

const hasGroups = chooseRung(aHome().deps, anyRung).name !== "prlimit";

describe.runIf(hasGroups)("a sandbox and its control group", () => {
  it("has the launcher in the group before it becomes bwrap (SEC-53)", async () => {
    const folder = join(home.folder, "told");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "bwrap"),
      '#!/bin/sh\n[ "$1" = --version ] || { cat /proc/self/cgroup; echo; }\nexec /usr/bin/bwrap "$@"\n',
    );
    chmodSync(join(folder, "bwrap"), 0o755);
    const deps = { ...home.deps, searchPath: `${folder}:${home.deps.searchPath}` };
    await using workspace = await aWorkspace({ ...home, deps }, await aBase(home, {}));

    const { text } = await shell(workspace, "cat /proc/self/cgroup");

    const [outside = "", inside = ""] = text.split("\n\n");
    const groups = outside
      .split("\n")
      .filter((line) => /:(memory|pids|cpu|):/.test(line) && /countersign-[-\d]+-[0-9a-f]{16}$/.test(line));
    expect(groups.length).toBeGreaterThanOrEqual(outside.includes(":memory:") ? 3 : 1);
    expect(inside).not.toContain("countersign-"); // its group is the top of what it sees
  });

  it("does not start where the group does not take it", async () => {
    const refused = new CountersignError("SANDBOX_FAILED", "the group is full");

    const { error, hasStarted } = await runConfined("touch started", { admit: () => Promise.reject(refused) });

    expect(error).toBe(refused);
    expect(hasStarted).toBe(false);
    expect(await runConfined("touch started", {})).toEqual({ error: null, hasStarted: true }); // the probe itself works
  });

  it("can neither see nor leave its group", async () => {
    await using workspace = await aWorkspace(home, await aBase(home, {}));

    const { text } = await shell(workspace, "ls /sys 2>&1; grep -c cgroup /proc/mounts");

    expect(text).toContain("No such file");
    expect(text.endsWith("0\n")).toBe(true);
  });
});

describe("SEC-58: what would not die", () => {
  it("poisons the workspace: nothing is answered, nothing can be read back", async () => {
    const { error } = await runConfined("echo done", { isEmpty: () => false });

    expect(error).toMatchObject({ code: "WORKSPACE_POISONED", message: expect.stringContaining("group") });
  });
});
