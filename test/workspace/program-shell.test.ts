import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defaultSearchPath } from "../../src/workspace/index.ts";
import { runByShell } from "../../src/workspace/program-shell.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-shell-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const deps = { searchPath: defaultSearchPath };
const run = (name: string, ...argv: readonly string[]): Promise<string | null> =>
  runByShell(deps, { name, argv, folder });

/** The shells of this process. */
const shells = (): readonly number[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").trim().split(" ").map(Number);

describe("a program that the shell of the service starts", () => {
  it("gets its arguments as they are, whatever signs they hold, in the folder that was named", async () => {
    const names = ["a b", "'; touch evil #", "$(touch evil)", '`x`\n"y"', "\\'\\", "ä*?", "-"];
    const odd = join(folder, "it's a 'folder'\n$HOME");
    mkdirSync(odd);

    expect(await runByShell(deps, { name: "mkdir", argv: ["--", ...names], folder: odd })).toBeNull();

    expect(readdirSync(odd).sort()).toEqual([...names].sort());
    expect(existsSync(join(folder, "evil"))).toBe(false);
  });

  it("tells its first line of complaint, or how it ended, each call its own", async () => {
    const told = await Promise.all([
      run("mkdir", "a"),
      run("mkdir", "a/b/c"),
      run("false"),
      run("cat"),
      run("echo", "0"),
      run("no-such-program"),
    ]);

    expect(told).toEqual([
      null,
      expect.stringContaining("a/b/c"),
      "it ended with 1",
      null,
      null,
      `no-such-program is in none of \`${defaultSearchPath}\``,
    ]);
  });

  it("is said to have failed where the shell is killed meanwhile, and the next one gets another shell", async () => {
    await run("true");
    const before = shells();
    const waiting = run("sleep", "300");
    for (const pid of before) process.kill(-pid, "SIGKILL"); // a session of its own, what it started included

    expect(await waiting).toBe("the shell that should have started it has ended");
    expect(await run("mkdir", "later")).toBeNull();
    expect(existsSync(join(folder, "later"))).toBe(true);
  });
});
