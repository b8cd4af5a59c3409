import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepLeftovers } from "../../src/store/index.ts";
import { openConfinement } from "../../src/workspace/confinement.ts";
import { defaultTreeLimits, seccompFilter, type Workspace } from "../../src/workspace/index.ts";
import { readProcess } from "../../src/workspace/process-tree.ts";
import { runInSandbox } from "../../src/workspace/sandbox.ts";
import { makeSandboxFolders } from "../../src/workspace/sandbox-place.ts";
import {
  aBase,
  aConfinement,
  aHome,
  aWorkspace,
  groupFoldersOf,
  never,
  noTools,
  shell,
  type TestHome,
  testRunUids,
} from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
let home: TestHome;
let workspace: Workspace;

beforeAll(async () => {
  home = aHome();
  workspace = await aWorkspace(home, await aBase(home, { "a.txt": "a\n" }));
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  home.dispose();
});

describe("a command in the sandbox", () => {
  it("sees the checkout as /workspace, owned by user 1000, and may write it", async () => {
    const result = await shell(
      workspace,
      "pwd; id -u; stat -c '%u %a' a.txt; echo b > b.txt; cat a.txt b.txt; rm b.txt",
    );

    expect(result.text).toBe("/workspace\n1000\n1000 644\na\nb\n");
    expect(result.exitCode).toBe(0);
  });

  it("has the listed variables and those of its shell alone", async () => {
    const { text } = await shell(workspace, "env | sort");

    expect(text.split("\n").filter((line) => line !== "")).toEqual([
      "CI=1",
      "DEBIAN_FRONTEND=noninteractive",
      "GIT_EDITOR=false",
      "GIT_PAGER=cat",
      "GIT_SEQUENCE_EDITOR=false",
      "GIT_TERMINAL_PROMPT=0",
      "HOME=/home/agent",
      "LANG=C.UTF-8",
      "NO_COLOR=1",
      "PAGER=cat",
      "PATH=/opt/tools/bin:/usr/local/bin:/usr/bin:/bin",
      "PWD=/workspace",
      "PYTHONDONTWRITEBYTECODE=1",
      "SHLVL=1",
      "TERM=dumb",
      "TMPDIR=/tmp",
      "TZ=UTC",
      "_=/usr/bin/env",
    ]);
  });

  it("gets /dev/null and two pipes, and no other descriptor", async () => {
    const { text } = await shell(
      workspace,
      "ls /proc/self/fd; readlink /proc/$$/fd/0; echo one >/dev/stdout; echo two >/dev/stderr",
    );

    expect(text).toBe("0\n1\n2\n3\n/dev/null\none\ntwo\n");
  });

  it("reads its text from a file that it can't write, so that no byte of it is part of a command line", async () => {
    const { text } = await shell(
      workspace,
      `tr '\\0' ' ' </proc/$$/cmdline; echo; [ -w "$0" ] || echo locked; : '"; $(x) é'`,
    );

    expect(text).toBe("/bin/bash --norc --noprofile /opt/command/script \nlocked\n");
  });

  it("takes an argument array as it is", async () => {
    const program = { kind: "argv", argv: ["printf", "%s|", "$HOME", "a b", "; true", "--"] } as const;

    const result = await workspace.exec({ program, timeoutMs: 10_000 }, never);

    expect(Buffer.from(result.output).toString()).toBe("$HOME|a b|; true|--|");
  });

  it("ends with the exit status of the program, and 127 for one that isn't there", async () => {
    expect((await shell(workspace, "exit 3")).exitCode).toBe(3);
    expect((await shell(workspace, "kill -9 $$")).exitCode).toBe(137);
    const missing = await workspace.exec({ program: { kind: "argv", argv: ["no-such"] }, timeoutMs: 10_000 }, never);
    expect(missing.exitCode).toBe(127);
  });

  it("counts what came on either stream", async () => {
    const result = await shell(workspace, "printf 12345; printf 678 >&2");

    expect([result.stdoutBytes, result.stderrBytes]).toEqual([5, 3]);
  });

  it("can't write through a mount that is read-only, nor reach the network, nor the host's processes", async () => {
    const { text } = await shell(
      workspace,
      `for f in /usr/x /etc/x /opt/x /x /proc/sys/kernel/hostname; do (echo x >$f) 2>/dev/null && echo "wrote $f"; done
(exec 9<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo connected
set -- /proc/[0-9]*; [ $# -lt 8 ] && echo few`,
    );

    expect(text).toBe("few\n");
  });

  it("holds no capability and can't gain one", async () => {
    const { text } = await shell(workspace, "grep -E '^(Cap|NoNew)' /proc/self/status | tr -d '\\t'");

    expect(text).toBe(
      "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\n",
    );
  });

  it("runs under lowered limits", async () => {
    const { text } = await shell(workspace, "ulimit -Hc; ulimit -Hf; ulimit -Hn");

    expect(text).toBe("0\n1048576\n4096\n");
  });

  it.runIf(asRoot)("runs as a run uid of its own and without other groups, as the host sees it", async () => {
    const running = shell(workspace, "echo up > up.txt; sleep 20", 30_000);
    const found = await waitFor(() => findCommand("sleep 20"));

    const status = readFileSync(`/proc/${found}/status`, "utf8");
    process.kill(found, "SIGKILL");
    await running;

    const [, uid = ""] = /^Uid:\t(\d+)/m.exec(status) ?? [];
    expect(Number(uid)).toBeGreaterThanOrEqual(64_300);
    expect(/^Groups:\t ?$/m.test(status)).toBe(true);
  });

  it.runIf(asRoot)("is never started by root", async () => {
    const folder = join(home.folder, "by-root");
    mkdirSync(folder);
    const folders = await makeSandboxFolders(home.deps, folder, null);
    const place = {
      ...folders,
      toolsFolder: noTools(home),
      toolchains: [],
      environment: {},
      seccompFilter: seccompFilter(),
    };
    const request = { program: { kind: "shell", script: "touch started" }, timeoutMs: 1000 } as const;
    await using confinement = openConfinement(home.deps, { ...aConfinement(home), isWorkBounded: true });

    const run = runInSandbox(home.deps, { ...place, owner: null, confinement, workFolder: folder }, request, never);

    await expect(run).rejects.toMatchObject({ code: "RUN_UID_UNUSABLE" });
    expect(existsSync(join(folder, "started"))).toBe(false);
  });
});

describe("the end of a command", () => {
  it("names what outlives the shell, and kills it", async () => {
    const result = await shell(workspace, "setsid sleep 301 & sleep 302 >/dev/null 2>&1 & echo done");

    expect(result.text).toBe("done\n");
    expect([...result.killed].sort()).toEqual(["sleep", "sleep"]);
    expect(result.durationMs).toBeLessThan(5000);
    expect([findCommand("sleep 301"), findCommand("sleep 302")]).toEqual([null, null]);
  });

  it("waits for what ends by itself while the pipes drain", async () => {
    const result = await shell(workspace, "(sleep 0.02; echo late) & echo early");

    expect(result.text).toBe("early\nlate\n");
    expect(result.killed).toEqual([]);
  });

  it("comes within two seconds of the time limit, TERM first, with the output so far", async () => {
    const result = await shell(
      workspace,
      "trap 'echo asked; exit 0' TERM; echo begun; while :; do sleep 0.01; done",
      1000,
    );

    expect(result).toMatchObject({ exitCode: null, timedOut: true, isCanceled: false });
    expect(result.text).toContain("begun\n");
    expect(result.text).toContain("asked\n");
    expect(result.durationMs).toBeLessThan(3000);
  });

  it("comes by KILL for what ignores TERM, children included", async () => {
    const result = await shell(workspace, "trap '' TERM; (setsid sleep 303 &) ; while :; do sleep 1; done", 1000);

    expect(result).toMatchObject({ timedOut: true, signal: "SIGKILL" });
    expect(result.durationMs).toBeLessThan(3000);
    expect(findCommand("sleep 303")).toBeNull();
  });

  it("comes at once when the signal is aborted", async () => {
    const controller = new AbortController();
    const request = { program: { kind: "shell", script: "sleep 304" }, timeoutMs: 60_000 } as const;
    const running = workspace.exec(request, controller.signal);
    await waitFor(() => findCommand("sleep 304"));

    controller.abort();

    expect(await running).toMatchObject({ exitCode: null, isCanceled: true, timedOut: false });
    expect(findCommand("sleep 304")).toBeNull();
  });

  it("throws the reason where the signal was aborted before the start", async () => {
    const request = { program: { kind: "shell", script: "true" }, timeoutMs: 1000 } as const;

    await expect(workspace.exec(request, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
  });

  it("leaves nothing for the next command", async () => {
    await shell(workspace, "echo x > /tmp/x; echo x > ~/x; sleep 305 & disown; export LEFT=1");

    const { text } = await shell(workspace, 'ls -A /tmp ~; echo "[$LEFT]"; set -- /proc/[0-9]*; echo $#');

    expect(text).toBe("/home/agent:\n\n/tmp:\n[]\n3\n");
  });

  it("keeps the beginning and the end of 100 MB of output and counts the rest", async () => {
    const result = await shell(workspace, "head -c 100000000 /dev/zero | tr '\\0' x; echo end", 60_000);

    expect(result.stdoutBytes).toBe(100_000_004);
    expect(result.output.length).toBe(16 * 1024 * 1024);
    expect(result.droppedBytes).toBe(100_000_004 - 16 * 1024 * 1024);
    expect(result.text.endsWith(`${"x".repeat(100)}end\n`)).toBe(true);
  });

  it("says what bubblewrap said where no sandbox comes to be", async () => {
    const broken = await aWorkspace(home, workspace.base, { toolsFolder: join(home.folder, "missing") });

    await expect(shell(broken, "true")).rejects.toMatchObject({
      code: "SANDBOX_FAILED",
      message: expect.stringContaining("bwrap: Can't find source path"),
    });
    await broken[Symbol.asyncDispose]();
  });

  it("answers BUBBLEWRAP_MISSING where there is none, before anything is made", async () => {
    const deps = { ...home.deps, searchPath: "/nowhere" };

    await expect(aWorkspace({ ...home, deps }, workspace.base)).rejects.toMatchObject({ code: "BUBBLEWRAP_MISSING" });
  });
});

describe("commands and file calls of the host", () => {
  it("exclude each other", async () => {
    const command = shell(workspace, "echo 1 > shared.txt; sleep 0.2; echo 2 > shared.txt");
    const read = workspace.readFile("shared.txt", 100);

    const seen = await read;

    expect(seen.kind === "file" ? Buffer.from(seen.bytes).toString() : seen.kind).toBe("2\n");
    await command;
    await shell(workspace, "rm shared.txt");
  });

  it("can run over other files alone", async () => {
    const files = new Map([["page.txt", Buffer.from("one\ntwo\n")]]);
    const program = { kind: "shell", script: "ls -A; grep -c . page.txt" } as const;

    const result = await workspace.execApart(files, { program, timeoutMs: 10_000 }, never);

    expect(Buffer.from(result.output).toString()).toBe("page.txt\n2\n");
    expect((await workspace.readFile("page.txt", 10)).kind).toBe("absent");
  });
});

describe("a service that is killed", () => {
  it("leaves no process, and its folder and lock are found by the next start", async () => {
    const script = join(home.folder, "service.ts");
    const ownHome = join(home.folder, "killed-home");
    const room = (name: string): string => JSON.stringify(new URL(`../../src/${name}/index.ts`, import.meta.url).href);
    const options = {
      ...{ runUids: testRunUids, toolsFolder: noTools(home), toolchains: [], environment: {} },
      ...{ limits: defaultTreeLimits, buildOutput: [], confinement: aConfinement(home) },
    };
    writeFileSync(
      script,
      `import { registerProcess } from ${room("store")};
import { createWorkspace, defaultSearchPath, openBase, defaultTreeLimits, seccompFilter } from ${room("workspace")};
import { randomBytes } from "node:crypto";
const home = ${JSON.stringify(ownHome)};
const never = new AbortController().signal;
const registered = (what, entry) => registerProcess(home, what, entry);
const deps = { home, searchPath: defaultSearchPath, randomBytes, registerProcess: registered };
const { base } = await openBase(deps, { kind: "path", path: process.argv[2] }, defaultTreeLimits, never);
const workspace = await createWorkspace(deps, base, { ...${JSON.stringify(options)}, seccompFilter: seccompFilter() }, never);
const program = { kind: "shell", script: "setsid sleep 306 & sleep 307" };
await workspace.exec({ program, timeoutMs: 60000 }, never);
`,
    );
    const repository = readdirSync(home.folder).find((name) => name.startsWith("repository-")) ?? "";
    const service = spawn(process.execPath, [script, join(home.folder, repository)], { stdio: "inherit" });
    await waitFor(() => findCommand("sleep 306"), 100_000);

    service.kill("SIGKILL");
    await once(service, "exit");
    await waitFor(() => (findCommand("sleep 306") ?? findCommand("sleep 307")) === null || null);
    const groups = groupFoldersOf(ownHome);
    const lines = await sweepLeftovers(ownHome);

    expect(lines.join("\n")).toMatch(/removed .*\/work\/[0-9a-f]{16} that a killed process had left/);
    expect(readdirSync(join(ownHome, "work"))).toEqual([]);
    expect(readdirSync(join(ownHome, "processes"))).toEqual([]);
    expect(groups.filter(existsSync)).toEqual([]); // SEC-53, SEC-61: groups included
  });
});

/** The pid of a process whose command line is this one, or null. */
function findCommand(command: string): number | null {
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      if (line === command && readProcess(Number(name))?.state !== "Z") return Number(name);
    } catch {
      // ended meanwhile
    }
  }
  return null;
}

/** Looks again and again until there is an answer; the bound only turns a hang into a failure. */
async function waitFor<T>(look: () => T | null, withinMs = 10_000): Promise<T> {
  for (const startedAt = performance.now(); performance.now() - startedAt < withinMs; ) {
    const found = look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("did not come to be");
}
