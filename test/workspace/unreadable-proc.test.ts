import { ChildProcess } from "node:child_process";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { BaseTree, RegisterProcess, Rung, Workspace } from "../../src/workspace/index.ts";
import { nameLeftovers } from "../../src/workspace/leftovers.ts";
import { isGone, readProcess } from "../../src/workspace/process-tree.ts";
import { waitUntilEmpty } from "../../src/workspace/sandbox-end.ts";
import { readStatus } from "../../src/workspace/sandbox-status.ts";
import { aBase, aConfinement, aHome, aWorkspace, never, type TestHome } from "../support/checkout.ts";

/** Which paths can't be read at the moment, as where a process has no descriptor left. */
const unreadable = vi.hoisted(() => ({ path: null as RegExp | null }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const failing =
    <Call extends (...rest: never[]) => unknown>(call: Call) =>
    (...rest: Parameters<Call>): unknown => {
      if (unreadable.path?.test(String(rest[0])) !== true) return call(...rest);
      throw Object.assign(new Error(`EMFILE: too many open files, '${String(rest[0])}'`), { code: "EMFILE" });
    };
  return {
    ...real,
    readdirSync: failing(real.readdirSync),
    readFileSync: failing(real.readFileSync),
    statSync: failing(real.statSync),
  };
});

const prlimit: Rung = { name: "prlimit", place: null, causes: ["a test asked for it"] };
let home: TestHome;
let base: BaseTree;
beforeAll(async () => {
  home = aHome();
  base = await aBase(home, { "a.txt": "a\n" });
});
afterEach(() => {
  unreadable.path = null;
});
afterAll(() => home.dispose());

/** Its commands' sandboxes are registered by `onSandbox`, which is told once they run. */
function open(onSandbox: () => void): Promise<Workspace> {
  const register: RegisterProcess = (what, entry) => {
    const forget = home.deps.registerProcess(what, entry);
    if (what === "a sandbox") onSandbox();
    return forget;
  };
  const watched = { ...home, deps: { ...home.deps, registerProcess: register } };
  const confinement = aConfinement(home, { rung: prlimit });
  return aWorkspace(watched, base, { confinement, runUids: "64386-64389", checkout: "copy" });
}

const sleep = { program: { kind: "shell", script: "sleep 60" }, timeoutMs: 60_000 } as const;

describe("a look at the system that fails (SEC-57, SEC-58)", () => {
  it("is not known to be the end of a process", () => {
    unreadable.path = /^\/proc\//;

    expect(() => readProcess(process.pid)).toThrow(/EMFILE/);
    expect(() => isGone(process.pid, "0")).toThrow(/EMFILE/);
  });

  it.each([
    ["at the list of processes", /^\/proc$/],
    ["at a process", /^\/proc\/\d+\/status$/],
    ["at its memory", /^\/proc\/\d+\/maps$/],
    ["at the work folder", /\/work\/[^/]+\/work\/tree$/],
  ])("ends the command: %s", async (_what, path) => {
    const paths = [path];
    await using workspace = await open(() => {
      unreadable.path = paths.pop() ?? null;
    });

    await expect(workspace.exec(sleep, never)).rejects.toMatchObject({
      code: "SANDBOX_FAILED",
      message: expect.stringMatching(/could not be watched: EMFILE/),
    });
    unreadable.path = null;
    expect(await workspace.exec({ ...sleep, program: { kind: "shell", script: "true" } }, never)).toMatchObject({
      exitCode: 0,
    });
  });

  it("ends a command that can't be registered", async () => {
    await using workspace = await open(() => {
      throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    });

    await expect(workspace.exec(sleep, never)).rejects.toMatchObject({ code: "SANDBOX_FAILED" });
  });

  it("for what outlives a command is told, and not repeated", async () => {
    const self = readProcess(process.pid);
    unreadable.path = /^\/proc\//;

    const cause = await new Promise((resolve) => nameLeftovers(Promise.resolve(self), [], resolve));

    expect(cause).toMatchObject({ code: "EMFILE" });
  });

  it("for the init makes it unknown, and never absent", async () => {
    const line = new PassThrough();
    unreadable.path = /^\/proc\//;
    const status = readStatus(line);
    line.end(`{ "child-pid": ${process.pid} }\n`);

    expect(await status.init).toBe(null);
    expect(status.failure()).toMatchObject({ code: "EMFILE" });
  });

  it("does not count as an empty sandbox: it is looked at again", async () => {
    const answers = ["fails", "fails", "full", "empty"];
    const isEmpty = (): boolean => {
      const answer = answers.shift();
      if (answer === "fails") throw new Error("EMFILE: too many open files");
      return answer === "empty";
    };
    const status = { init: Promise.resolve(null), failure: () => null, exitCode: () => 0 };

    await waitUntilEmpty(new ChildProcess(), status, { isEmpty, kill: () => {} });

    expect(answers).toEqual([]);
  });
});
