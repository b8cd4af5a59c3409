import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError, type ExecResult } from "../domain/index.ts";
import { BoundedOutput } from "./bounded-output.ts";
import { findProgram } from "./find-program.ts";
import { isRoot, type WorkspaceDeps } from "./host.ts";
import { inheritedDescriptors } from "./inherited-descriptors.ts";
import { nameLeftovers } from "./leftovers.ts";
import { type OpenPipe, openPipe } from "./output-pipes.ts";
import { processLimits } from "./process-limits.ts";
import { descendantsOf, findSupervisor, isGone, type ProcessFacts, sendSignal } from "./process-tree.ts";
import { userNamespaceRemedy } from "./require-bubblewrap.ts";
import { sandboxFlags } from "./sandbox-flags.ts";
import { commandInside, type SandboxPlace } from "./sandbox-place.ts";
import { readStatus, type SandboxStatus } from "./sandbox-status.ts";
import type { ExecRequest } from "./workspace.ts";

/** Between TERM and KILL at the time limit (ACI-58). */
const graceMs = 200;
/** How long the PID namespace may take to empty (SEC-58), and the pipes to drain (ACI-59). */
const emptyWithinMs = 5000;
const drainWithinMs = 100;

/**
 * One command in a sandbox of its own over `workFolder`. When it returns nothing in the sandbox lives. Throws SANDBOX_FAILED
 * (no sandbox came to be), BUBBLEWRAP_MISSING, WORKSPACE_POISONED (something would not die), ABORTED before a start.
 */
export async function runInSandbox(
  deps: WorkspaceDeps,
  place: SandboxPlace & { readonly workFolder: string },
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  signal.throwIfAborted();
  const startedAt = performance.now();
  const output = new BoundedOutput();
  const stdout = collect(openPipe(place.pipes.stdout), output);
  const stderr = collect(openPipe(place.pipes.stderr), output);
  const child = startSandbox(deps, place, { request, stdout: stdout.writer, stderr: stderr.writer });
  const ended = endOf(child);
  const status = readStatus(child.stdio[3] as Readable);
  const watch = watchOver(child, status, request.timeoutMs, signal);
  const registered = register(deps, status);

  const exit = await ended.finally(() => watch.stop());
  await waitUntilEmpty(child, status);
  await Promise.race([Promise.all([stdout.closed, stderr.closed]), delay(drainWithinMs)]);
  for (const { reader } of [stdout, stderr]) reader.destroy();
  (await registered)();

  const kept = output.finish();
  if (watch.reason() === null && status.exitCode() === null) throw failedToStart(exit, kept.output);
  return {
    exitCode: watch.reason() === null ? exit.exitCode : null,
    signal: watch.reason() === null ? null : watch.lastSignal(),
    ...kept,
    stdoutBytes: stdout.count(),
    stderrBytes: stderr.count(),
    durationMs: Math.round(performance.now() - startedAt),
    timedOut: watch.reason() === "timed_out",
    isCanceled: watch.reason() === "canceled",
    killed: watch.killed(),
  };
}

function collect(pipe: OpenPipe, output: BoundedOutput) {
  let bytes = 0;
  pipe.reader.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    output.add(chunk);
  });
  pipe.reader.on("error", () => {}); // a broken pipe is an ended pipe
  const closed = new Promise<void>((resolve) => pipe.reader.on("close", () => resolve()));
  return { ...pipe, closed, count: () => bytes };
}

/** Closes our ends of what the child got in any case: a pipe ends when its last writer is closed. */
function startSandbox(
  deps: WorkspaceDeps,
  place: SandboxPlace & { readonly workFolder: string },
  command: { readonly request: ExecRequest; readonly stdout: number; readonly stderr: number },
): ChildProcess {
  const opened = [command.stdout, command.stderr];
  try {
    const filter = openFilter(place);
    if (filter !== null) opened.push(filter);
    const layout = { ...place, environment: { ...place.environment, ...command.request.environment } };
    const flags = sandboxFlags(
      { ...layout, seccompDescriptor: filter === null ? null : 4 },
      commandInside(place, command.request.program),
    );
    const [program = "", ...rest] = launcher(deps, place, command.request.timeoutMs);
    return spawn(program, [...rest, "--json-status-fd", "3", ...flags], {
      cwd: "/",
      env: {},
      stdio: ["ignore", command.stdout, command.stderr, "pipe", ...(filter === null ? [] : [filter])],
      ...runUid(place),
    });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** SEC-41: never from euid 0. Node drops the supplementary groups along with the ids (libuv, `uv__process_child_init`). */
function runUid(place: SandboxPlace): { readonly uid?: number; readonly gid?: number } {
  // INVARIANT: bwrap never runs as root (test/workspace/sandbox.test.ts)
  if (isRoot() && (place.owner === null || place.owner.uid === 0)) {
    throw new CountersignError("RUN_UID_UNUSABLE", "a sandbox is never started by root, and no run uid was given");
  }
  return place.owner === null ? {} : place.owner;
}

function openFilter(place: SandboxPlace): number | null {
  if (place.seccompFilter === null) return null;
  const path = join(place.generatedFolder, "filter");
  writeFileSync(path, place.seccompFilter);
  return openSync(path, "r");
}

/** What stands before bubblewrap's own flags: inherited descriptors closed, limits lowered where `prlimit` is there. */
function launcher(deps: WorkspaceDeps, place: SandboxPlace, timeoutMs: number): readonly string[] {
  const bubblewrap = findProgram(deps.searchPath, "bwrap");
  if (bubblewrap === null) {
    throw new CountersignError("BUBBLEWRAP_MISSING", `bwrap is in none of \`${deps.searchPath}\``);
  }
  const limiter = findProgram(deps.searchPath, "prlimit");
  const limited = limiter === null ? [] : [limiter, ...processLimits({ timeoutMs, tasks: place.tasks }), "--"];
  const inherited = inheritedDescriptors();
  if (inherited.length === 0) return [...limited, bubblewrap];
  const closing = `exec ${inherited.map((descriptor) => `${descriptor}>&-`).join(" ")}; exec "$@"`;
  return ["/bin/bash", "--norc", "--noprofile", "-c", closing, "bash", ...limited, bubblewrap];
}

type Exit = { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null };

function endOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.on("error", (cause) =>
      reject(new CountersignError("SANDBOX_FAILED", `the sandbox could not be started: ${cause.message}`, { cause })),
    );
    child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

/** Ends the sandbox at the time limit and on the signal; the first reason wins. Looks for what outlives the command. */
function watchOver(child: ChildProcess, status: SandboxStatus, timeoutMs: number, signal: AbortSignal) {
  let reason: "timed_out" | "canceled" | null = null;
  let lastSignal: NodeJS.Signals | null = null;
  const killed: string[] = [];
  const stopNaming = nameLeftovers(status.init, killed);
  const kill = async (): Promise<void> => {
    lastSignal = "SIGKILL";
    const init = await status.init; // with it all in its namespace dies; bubblewrap itself says which it is before it goes on
    if (init !== null && !isGone(init.pid, init.startTime)) sendSignal(init.pid, "SIGKILL");
    child.kill("SIGKILL");
  };
  let grace: NodeJS.Timeout | undefined;
  const limit = setTimeout(() => {
    if (reason !== null) return;
    reason = "timed_out";
    lastSignal = "SIGTERM";
    void status.init.then((init) => terminateTree(init));
    grace = setTimeout(() => void kill(), graceMs);
  }, timeoutMs);
  const cancel = (): void => {
    reason ??= "canceled";
    void kill();
  };
  signal.addEventListener("abort", cancel, { once: true });
  return {
    reason: () => reason,
    lastSignal: () => lastSignal,
    killed: () => killed,
    stop: () => {
      clearTimeout(limit);
      clearTimeout(grace);
      stopNaming();
      signal.removeEventListener("abort", cancel);
    },
  };
}

/** TERM to all but the init and the supervisor below it, whose end would end the rest at once. */
function terminateTree(init: ProcessFacts | null): void {
  if (init === null) return;
  const supervisor = findSupervisor(init);
  for (const { pid } of descendantsOf(init.pid)) if (pid !== supervisor?.pid) sendSignal(pid, "SIGTERM");
}

async function register(deps: WorkspaceDeps, status: SandboxStatus): Promise<() => void> {
  const init = await status.init;
  return init === null ? () => {} : deps.registerProcess("a sandbox", { pid: init.pid, paths: [], mounts: [] });
}

/** SEC-58. The init of a PID namespace is gone only when nothing else lives in it (pid_namespaces(7)). */
async function waitUntilEmpty(child: ChildProcess, status: SandboxStatus): Promise<void> {
  const init = await status.init;
  if (init === null) return;
  const startedAt = performance.now();
  for (let pauseMs = 0; !isGone(init.pid, init.startTime); pauseMs = Math.min(20, pauseMs + 1)) {
    if (performance.now() - startedAt > emptyWithinMs) {
      throw new CountersignError("WORKSPACE_POISONED", `process ${init.pid} of the sandbox did not end within 5 s`);
    }
    if (pauseMs > 2) sendSignal(init.pid, "SIGKILL"); // bubblewrap's parent-death signal should have done it
    await delay(pauseMs);
  }
  child.removeAllListeners();
}

function failedToStart(exit: Exit, output: Uint8Array): CountersignError {
  const lines = Buffer.from(output).toString("utf8").trimEnd().split("\n");
  const line = lines.findLast((text) => /^(bwrap|prlimit): /.test(text)) ?? "no message";
  const remedy = userNamespaceRemedy();
  return new CountersignError("SANDBOX_FAILED", `no sandbox came to be: ${line}`, {
    details: { exitCode: exit.exitCode, signal: exit.signal },
    ...(remedy === null ? {} : { remedy }),
  });
}
