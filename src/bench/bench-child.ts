import { type ChildProcess, fork } from "node:child_process";
import { on, once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { defaultSearchPath } from "../workspace/index.ts";
import type { BenchPlace } from "./bench-place.ts";

/** One part of a measurement in a process of its own, which ends with this one. */
export type BenchChild = AsyncDisposable & {
  /** What it says next. Throws where it ends without a word. */
  next(): Promise<unknown>;
  /** The end of what it wrote on standard error. */
  complaint(): string;
  /** Ends it by SIGKILL, and answers when it is gone. */
  kill(): Promise<void>;
};

const endTimeoutMs = 60_000;

/** `script` is a file of this folder; it is given the path of its plan, which may hold secrets. */
export async function startChild(
  place: BenchPlace,
  script: string,
  plan: object,
  signal: AbortSignal,
): Promise<BenchChild> {
  const name = Buffer.from(place.deps.randomBytes(8)).toString("hex");
  const path = join(place.folder, `plan-${name}.json`);
  await writeFile(path, JSON.stringify(plan), { mode: 0o600 });
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [path], {
    execArgv: [],
    env: { PATH: defaultSearchPath, LOG_LEVEL: "silent" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    signal,
  });
  let complaint = "";
  (child.stderr as Readable).on("data", (bytes: Buffer) => {
    complaint = `${complaint}${bytes}`.slice(-2_000);
  });
  const messages = on(child, "message", { close: ["exit"] });
  return {
    next: async () => {
      const { value, done } = (await messages.next()) as IteratorResult<readonly unknown[]>;
      if (done) throw new Error(`\`${script}\` ended: ${complaint.trim()}`);
      return value[0];
    },
    complaint: () => complaint.trim(),
    kill: () => end(child, "SIGKILL"),
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect(); // which tells it to end
      const late = setTimeout(() => child.kill("SIGKILL"), endTimeoutMs);
      await end(child, null);
      clearTimeout(late);
    },
  };
}

async function end(child: ChildProcess, by: NodeJS.Signals | null): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  if (by !== null) child.kill(by);
  await ended;
}
