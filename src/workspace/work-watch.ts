import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { promisify } from "node:util";
import type { ReachedLimit } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";
import { descendantsOf, type ProcessFacts, unlessClosed, unlessGone } from "./process-tree.ts";
import type { SandboxLimits } from "./sandbox-limits.ts";

/** A pause this many times as long as the count took keeps the counting from being a load of its own. */
const pausePerCount = 4;
const leastPauseMs = 250;

export type WorkWatch = {
  /** Throws once it can't be told. */
  reached(): ReachedLimit | null;
  stop(): void;
};

/**
 * Counts what lies in a work folder that no file system bounds (SEC-56), again and again while a command runs. By `du`, which
 * goes down by descriptors and follows no link. Files that were removed but are still held open are added; what only a
 * mapping still holds is not seen: this stands in for a tmpfs and is weaker.
 */
export function watchWorkFolder(
  deps: Pick<WorkspaceDeps, "searchPath">,
  folder: string,
  init: Promise<ProcessFacts | null>,
  limits: Pick<SandboxLimits, "workBytes" | "workInodes">,
): WorkWatch {
  let reached: ReachedLimit | null = null;
  let failure: unknown = null;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (root: ProcessFacts): Promise<void> => {
    const startedAt = performance.now();
    const [bytes, inodes] = await Promise.all([count(deps, folder, "--block-size=1"), count(deps, folder, "--inodes")]);
    if (isStopped) return;
    if (bytes + removedButOpenBytes(root, statSync(folder).dev) > limits.workBytes)
      reached = { kind: "work_bytes", atMost: limits.workBytes };
    else if (inodes > limits.workInodes) reached = { kind: "work_inodes", atMost: limits.workInodes };
    else lookAfter(root, Math.max(leastPauseMs, pausePerCount * (performance.now() - startedAt)));
  };
  const lookAfter = (root: ProcessFacts, pauseMs: number): void => {
    timer = setTimeout(() => {
      look(root).catch((error: unknown) => {
        failure = error;
      });
    }, pauseMs);
  };
  void init.then((root) => {
    if (root !== null && !isStopped) lookAfter(root, leastPauseMs);
  });
  return {
    reached: () => {
      if (failure !== null) throw failure;
      return reached;
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** What vanishes while it counts makes `du` end with 1, and its sum stands. What it could not look into is too much. */
async function count({ searchPath }: Pick<WorkspaceDeps, "searchPath">, folder: string, unit: string): Promise<number> {
  const program = findProgram(searchPath, "du");
  if (program === null) return Number.POSITIVE_INFINITY; // what can't be counted is too much
  const argv = ["--summarize", "--one-file-system", unit, "--", folder];
  const { stdout } = await promisify(execFile)(program, argv, { env: {}, cwd: "/" }).catch(
    (error: { readonly stdout?: string; readonly stderr?: string; readonly killed?: boolean }) => ({
      stdout: hasOnlyVanished(error.stderr ?? "") && error.killed !== true ? (error.stdout ?? "") : "",
    }),
  );
  return Number(/^(\d+)\t/.exec(stdout)?.[1] ?? Number.POSITIVE_INFINITY);
}

const hasOnlyVanished = (stderr: string): boolean =>
  stderr.split("\n").every((line) => line === "" || line.endsWith(": No such file or directory"));

/** Looking at each takes the whole service's time: beyond this many of one sandbox they can't be counted, and that is too much. */
const descriptorsAtMost = 50_000;

function removedButOpenBytes(init: ProcessFacts, device: number): number {
  const sizes = new Map<string, number>();
  let seen = 0;
  for (const { pid } of [init, ...descendantsOf(init.pid)]) {
    const names = descriptorsOf(pid);
    seen += names.length;
    if (seen > descriptorsAtMost) return Number.POSITIVE_INFINITY;
    for (const name of names) {
      const file = unlessGone(() => statSync(`/proc/${pid}/fd/${name}`));
      if (file?.dev === device && file.isFile() && file.nlink === 0) sizes.set(`${file.ino}`, file.blocks * 512);
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

const descriptorsOf = (pid: number): readonly string[] => unlessClosed(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
