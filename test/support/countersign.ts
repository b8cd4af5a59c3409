import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { openStore } from "../../src/store/index.ts";
import { prepareTools } from "../../src/workspace/index.ts";
import { databaseUrlOf, isStoreHomeOurs, openTestStore, type TestStore } from "./test-store.ts";

const checkout = resolve(import.meta.dirname, "../..");
const bin = join(checkout, "bin", "countersign.mjs");

export type Ended = {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** A command that runs. */
export type Running = {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** The first line of standard error that matches, told already or to come; an error with all output where none does. */
  readonly line: (pattern: RegExp) => Promise<string>;
  readonly kill: (signal: NodeJS.Signals) => void;
};

export type Environment = Readonly<Record<string, string>>;

export type Countersign = AsyncDisposable & {
  /** A folder of its own that other users can enter; home lies in it. */
  readonly folder: string;
  readonly home: string;
  /** What every command gets, and nothing else of this process. */
  readonly environment: Environment;
  /** The database of the `shared` kind. */
  readonly store: TestStore | null;
  /** `within`: a program and its arguments that start the command in turn. */
  readonly start: (argv: readonly string[], environment?: Environment, within?: readonly string[]) => Running;
  readonly command: (argv: readonly string[], environment?: Environment) => Promise<Ended>;
  /** The same in this process, where the test is not about one: several times as quick. */
  readonly inProcess: (argv: readonly string[], environment?: Environment) => Promise<Ended>;
};

/** Distinct for each home of each process, and more than any test works on runs at once: each needs one of its own. */
let homes = 0;
function runUids(): string {
  homes += 1;
  const first = 60_600 + ((process.pid * 7 + homes) % 220) * 16;
  return `${first}-${first + 15}`;
}

/**
 * The real command with a home and an environment of its own. `own`: the embedded database below home, started and stopped
 * by each command. `shared`: a fresh database in the server of this run of the tests, which is much quicker.
 */
export async function openCountersign(database: "own" | "shared"): Promise<Countersign> {
  const folder = mkdtempSync(join(tmpdir(), `countersign-flow-of-${process.ppid}-`));
  chmodSync(folder, 0o711);
  const home = join(folder, "home");
  mkdirSync(join(folder, "user"));
  const store = database === "shared" ? await openTestStore() : null;
  if (store !== null) await layToolsOut(home);
  const environment = {
    PATH: [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    HOME: join(folder, "user"),
    COUNTERSIGN_HOME: home,
    // Half of a command's start is compiling; goes with the home of this run of the tests.
    NODE_COMPILE_CACHE: join(inject("storeHome"), "compiled"),
    ...(process.getuid?.() === 0 ? { COUNTERSIGN_RUN_UIDS: runUids() } : {}),
    ...(store === null ? {} : { DATABASE_URL: databaseUrlOf(store) }),
  };
  const running = new Set<Running>();
  const start: Countersign["start"] = (argv, more = {}, within = []) => {
    // Optimizing the policy engine's WebAssembly takes longer than a command's decisions.
    const node = [process.execPath, "--liftoff-only"];
    const one = startCommand([...within, ...node, bin, ...argv], { ...environment, ...more }, folder);
    running.add(one);
    void one.ended.finally(() => running.delete(one));
    return one;
  };
  return {
    folder,
    home,
    environment,
    store,
    start,
    command: (argv, more) => start(argv, more).ended,
    inProcess: async (argv, more) => {
      const { commandInProcess } = await import("./command-in-process.ts"); // who doesn't ask needn't load all rooms
      return commandInProcess({ folder, environment }, argv, more);
    },
    [Symbol.asyncDispose]: async () => {
      for (const { kill } of running) kill("SIGKILL");
      await Promise.all([...running].map(({ ended }) => ended));
      await store?.[Symbol.asyncDispose]();
      if (database === "own") await endDatabase(home);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The sandbox's tools as a first command would copy them, but as links to one copy for all homes: they are 145 MB. An ordinary user
 * may not link what is root's: there the first command copies.
 */
async function layToolsOut(home: string): Promise<void> {
  if (!isStoreHomeOurs()) return;
  const folder = await prepareTools({ home: inject("storeHome"), randomBytes });
  mkdirSync(home, { mode: 0o711 });
  mkdirSync(join(home, "tools"), { mode: 0o755 });
  await promisify(execFile)("cp", ["--archive", "--link", folder, join(home, "tools")]);
}

/** A server that a killed command left is ended by whoever opens the store next. */
async function endDatabase(home: string): Promise<void> {
  if (databaseServers(home).length === 0) return;
  const deps = { randomBytes, notice: () => undefined };
  const options = { databaseUrl: null, home, databaseUid: null };
  await (await openStore(deps, options, new AbortController().signal))[Symbol.asyncDispose]();
}

/** Starts a program with this environment and no other. */
function startCommand([program = "", ...argv]: readonly string[], environment: Environment, folder: string): Running {
  const child = spawn(program, argv, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  const news = new EventTarget();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    news.dispatchEvent(new Event("news"));
  });
  let isOver = false;
  const ended = once(child, "close").then(([exitCode, signal]) => {
    isOver = true;
    news.dispatchEvent(new Event("news"));
    return { exitCode: exitCode as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr };
  });
  return {
    pid: child.pid ?? 0,
    ended,
    line: (pattern) =>
      new Promise((found, failed) => {
        const look = (): void => {
          const line = stderr.split("\n").find((text) => pattern.test(text));
          if (line === undefined && !isOver) return;
          news.removeEventListener("news", look);
          if (line === undefined) failed(new Error(`no line matches ${pattern}:\n${stderr}\n${stdout}`));
          else found(line);
        };
        news.addEventListener("news", look);
        look();
      }),
    kill: (signal) => void child.kill(signal),
  };
}

/** Pids of all processes that have to do with a home: their folder, program, arguments or an open file lies in it. */
export function processesOf(home: string): readonly { readonly pid: number; readonly command: string }[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const links = ["cwd", "exe", "root"].map((link) => linkOf(`/proc/${name}/${link}`));
    const command = textOf(`/proc/${name}/cmdline`).replaceAll("\0", " ");
    const isOurs = links.some((path) => path.startsWith(`${home}/`)) || command.includes(`${home}/`);
    return isOurs && !/^\d+ \(.*\) Z/s.test(textOf(`/proc/${name}/stat`)) ? [{ pid, command }] : [];
  });
}

export const databaseServers = (home: string): readonly number[] =>
  processesOf(home).flatMap(({ pid, command }) => (command.includes("postgres") ? [pid] : []));

/** Mount points below a home, in the mount namespace of this process. */
export const mountsOf = (home: string): readonly string[] =>
  textOf("/proc/self/mountinfo")
    .split("\n")
    .filter((line) => line.includes(`${home}/`));

/** Names in a folder of home; none where the folder is not there. */
export function namesIn(...parts: readonly string[]): readonly string[] {
  try {
    return readdirSync(join(...parts));
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
