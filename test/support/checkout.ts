import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { registerProcess } from "../../src/store/index.ts";
import {
  anyRung,
  type BaseTree,
  type CheckoutKind,
  chooseRung,
  createWorkspace,
  defaultSandboxLimits,
  defaultSearchPath,
  defaultTreeLimits,
  type OutputMeter,
  openBase,
  type Rung,
  type SandboxLimits,
  seccompFilter,
  type Workspace,
  type WorkspaceDeps,
  type WorkspaceOptions,
} from "../../src/workspace/index.ts";

/** Outside the range that the demo and other suites use. */
export const testRunUids = "64300-64399";

/** Real git and real sandboxes: on a busy machine each start takes its time, and a limit is there for hangs alone. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** All that this machine can make: without root a copy alone. What no test names is the best of them. */
export const checkoutKinds: readonly CheckoutKind[] =
  process.geteuid?.() === 0 ? ["overlay", "tmpfs", "copy"] : ["copy"];

export const never = new AbortController().signal;

/** A service folder that run uids can pass, with what the room needs; removed by `dispose`. */
export type TestHome = { readonly folder: string; readonly deps: WorkspaceDeps; dispose(): void };

export function aHome(): TestHome {
  const folder = mkdtempSync(join(tmpdir(), `countersign-test-of-${process.ppid}-`));
  chmodSync(folder, 0o711);
  const home = join(folder, "home");
  const deps: WorkspaceDeps = {
    home,
    searchPath: defaultSearchPath,
    randomBytes,
    registerProcess: (what, registered) => registerProcess(home, what, registered),
  };
  return { folder, deps, dispose: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A file of a made repository: bytes, or a link's text, or a program. */
export type Content = string | Uint8Array | { readonly link: string } | { readonly program: string };

export const git = (folder: string, ...commands: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", folder, ...commands], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: defaultSearchPath, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
  });

export function writeFiles(folder: string, files: Readonly<Record<string, Content>>): void {
  for (const [path, content] of Object.entries(files)) {
    const place = join(folder, path);
    mkdirSync(dirname(place), { recursive: true });
    if (typeof content === "string" || content instanceof Uint8Array) writeFileSync(place, content);
    else if ("link" in content) symlinkSync(content.link, place);
    else writeFileSync(place, content.program, { mode: 0o755 });
  }
}

/** A repository with one commit of these files. */
export function aRepository(folder: string, files: Readonly<Record<string, Content>>): string {
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch=main");
  writeFiles(folder, files);
  git(folder, "add", "--all", "--force");
  git(folder, "commit", "--quiet", "--allow-empty", "--message=first");
  return folder;
}

export async function aBase(home: TestHome, files: Readonly<Record<string, Content>>): Promise<BaseTree> {
  const path = aRepository(join(home.folder, `repository-${randomBytes(4).toString("hex")}`), files);
  return (await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never)).base;
}

/** An empty folder in the place of the tools: for tests that need none of them. */
export function noTools(home: TestHome): string {
  const folder = join(home.folder, "tools");
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return folder;
}

/** The control groups that a home has registered as its own. */
export function groupFoldersOf(home: string): readonly string[] {
  const folder = join(home, "processes");
  return readdirSync(folder).flatMap((name): readonly string[] => {
    try {
      return JSON.parse(readFileSync(join(folder, name), "utf8")).cgroups;
    } catch {
      return []; // forgotten meanwhile
    }
  });
}

/** The best rung of this machine with the shipped limits, but for what is given. */
export function aConfinement(
  home: TestHome,
  changes: { readonly rung?: Rung; readonly limits?: Partial<SandboxLimits>; readonly output?: OutputMeter } = {},
): WorkspaceOptions["confinement"] {
  return {
    rung: changes.rung ?? chooseRung(home.deps, anyRung),
    limits: { ...defaultSandboxLimits, ...changes.limits },
    sandboxesAtOnce: 4,
    output: changes.output ?? { usedBytes: 0 },
  };
}

export function aWorkspace(
  home: TestHome,
  base: BaseTree,
  options: Partial<WorkspaceOptions> = {},
): Promise<Workspace> {
  const usual: WorkspaceOptions = {
    runUids: testRunUids,
    toolsFolder: noTools(home),
    toolchains: [],
    environment: {},
    limits: defaultTreeLimits,
    buildOutput: [],
    seccompFilter: seccompFilter(),
    confinement: aConfinement(home),
  };
  return createWorkspace(home.deps, base, { ...usual, ...options }, never);
}

/** Runs bash text in the workspace's sandbox. */
export async function shell(workspace: Workspace, script: string, timeoutMs = 20_000) {
  const result = await workspace.exec({ program: { kind: "shell", script }, timeoutMs }, never);
  return { ...result, text: Buffer.from(result.output).toString("utf8") };
}
