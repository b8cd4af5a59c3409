import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { defaultSearchPath } from "../workspace/index.ts";
import type { BenchPlace } from "./bench-place.ts";

/** What was seen of a process from outside. */
export type Observed = {
  readonly wallMs: number;
  readonly peakMemoryMb: number;
  /** What it printed. */
  readonly output: string;
  /** Lines of its standard error and when they came, in milliseconds after its start. */
  readonly lines: readonly { readonly text: string; readonly atMs: number }[];
};

const lookEveryMs = 20;

/** Runs a program on this Node.js and watches it. Throws where it ends with another status than the one expected. */
export async function observe(
  argv: readonly string[],
  { environment, exitCode }: { readonly environment: Readonly<Record<string, string>>; readonly exitCode: number },
  signal: AbortSignal,
): Promise<Observed> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, argv, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: defaultSearchPath, ...environment },
    signal,
    killSignal: "SIGTERM",
  });
  const lines: { text: string; atMs: number }[] = [];
  createInterface({ input: child.stderr as Readable }).on("line", (line) => {
    lines.push({ text: line, atMs: performance.now() - startedAt });
  });
  const printed = text(child.stdout as Readable);
  const exited = new Promise<{ readonly code: number | null; readonly atMs: number }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ code: status, atMs: performance.now() - startedAt }));
  });
  let peakMemoryMb = 0;
  let isRunning = true;
  const ended = exited.finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    peakMemoryMb = Math.max(peakMemoryMb, peakMemoryOf(child.pid ?? 0));
    await Promise.race([ended, wait(lookEveryMs)]);
  }
  const { code, atMs } = await ended;
  if (code !== exitCode)
    throw new Error(`${argv.slice(0, 2).join(" ")} ended with ${code}: ${lines.at(-1)?.text ?? ""}`);
  return { wallMs: atMs, peakMemoryMb, output: await printed, lines };
}

/** The kernel's own high-water mark, so that a peak between two looks is not missed (proc_pid_status(5), VmHWM). */
function peakMemoryOf(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0; // it has ended
  }
}

/** The environment of a `countersign` process in this home. */
export async function commandEnvironment(
  place: BenchPlace,
  home: string,
  model: { readonly baseUrl: string; readonly name: string },
): Promise<Readonly<Record<string, string>>> {
  const { runUids } = place.settings;
  return {
    COUNTERSIGN_HOME: home,
    COUNTERSIGN_POLICIES: await place.policiesFolder(),
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_MODEL: model.name,
    ...(runUids === null ? {} : { COUNTERSIGN_RUN_UIDS: runUids }),
  };
}
