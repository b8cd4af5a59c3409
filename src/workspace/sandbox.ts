import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError, type ExecResult, isFullDisk } from "../domain/index.ts";
import { BoundedOutput } from "./bounded-output.ts";
import { type CommandWatch, watchOver } from "./command-watch.ts";
import type { Confinement } from "./confinement.ts";
import { isRoot, type WorkspaceDeps } from "./host.ts";
import { launcher } from "./launcher.ts";
import { type OpenPipe, type OutputPipes, openPipe } from "./output-pipes.ts";
import { userNamespaceRemedy } from "./require-bubblewrap.ts";
import { messageOf, unwatched, waitUntilEmpty } from "./sandbox-end.ts";
import { sandboxFlags } from "./sandbox-flags.ts";
import { commandInside, type SandboxPlace } from "./sandbox-place.ts";
import { readStatus, type SandboxStatus } from "./sandbox-status.ts";
import { watchWorkFolder } from "./work-watch.ts";
import type { ExecRequest } from "./workspace.ts";

/** How long the pipes may take to drain (ACI-59). */
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
  const { confinement } = place;
  const startedAt = performance.now();
  const output = new BoundedOutput();
  const { stdout, stderr, child, gate } = start(deps, place, request, output);
  const ended = endOf(child);
  const status = readStatus(child.stdio[3] as Readable);
  const { timeoutMs } = request;
  const work = confinement.isWorkBounded
    ? null
    : watchWorkFolder(deps, place.workFolder, status.init, confinement.limits);
  const printedBytes = (): number => stdout.count() + stderr.count();
  const watch = watchOver({ child, status, confinement, timeoutMs, printedBytes, work }, signal);
  const admitted = admit(confinement, child, gate);
  const registered = register(deps, status).catch((cause: unknown) => {
    watch.fail(cause);
    return () => {};
  });

  const exit = await ended.finally(() => watch.stop());
  const refusedAdmission = await admitted;
  await waitUntilEmpty(child, status, confinement);
  await Promise.race([Promise.all([stdout.closed, stderr.closed]), delay(drainWithinMs)]);
  for (const { reader } of [stdout, stderr]) reader.destroy();
  watch.lookBack();
  (await registered)();

  const kept = output.finish();
  const reason = watch.reason();
  if (reason?.kind === "unwatched") throw unwatched(reason.cause);
  if (watch.reason() === null && refusedAdmission !== null) throw refusedAdmission;
  if (watch.reason() === null && status.exitCode() === null) throw failedToStart(exit, kept.output);
  return {
    ...endAsResult(watch, exit),
    ...kept,
    stdoutBytes: stdout.count(),
    stderrBytes: stderr.count(),
    durationMs: Math.round(performance.now() - startedAt),
    killed: watch.killed(),
  };
}

function endAsResult(watch: CommandWatch, exit: Exit) {
  const reason = watch.reason();
  return {
    exitCode: reason === null ? exit.exitCode : null,
    signal: reason === null ? null : watch.lastSignal(),
    timedOut: reason?.kind === "timed_out",
    isCanceled: reason?.kind === "canceled",
    limit: reason?.kind === "limit" ? reason.limit : null,
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

/** Throws SANDBOX_FAILED for whatever the system refuses before the sandbox is there, but a full disk as the system says it. */
function start(
  deps: WorkspaceDeps,
  place: SandboxPlace & { readonly workFolder: string },
  request: ExecRequest,
  output: BoundedOutput,
) {
  try {
    const [stdout, stderr] = openPipes(place.pipes).map((pipe) => collect(pipe, output)) as [Collected, Collected];
    return { stdout, stderr, ...startSandbox(deps, place, { request, stdout: stdout.writer, stderr: stderr.writer }) };
  } catch (cause) {
    if (cause instanceof CountersignError || isFullDisk(cause)) throw cause;
    // biome-ignore lint/style/useErrorCause: it is passed, with the options of our own class
    throw new CountersignError("SANDBOX_FAILED", `the sandbox could not be started: ${messageOf(cause)}`, { cause });
  }
}

type Collected = ReturnType<typeof collect>;

function openPipes({ stdout, stderr }: OutputPipes): readonly [OpenPipe, OpenPipe] {
  const first = openPipe(stdout);
  try {
    return [first, openPipe(stderr)];
  } catch (error) {
    closeSync(first.writer);
    first.reader.destroy();
    throw error;
  }
}

type Started = {
  readonly child: ChildProcess;
  /** Where the start waits until the launcher is in its group; null: it does not wait. */
  readonly gate: Writable | null;
};

/** Closes our ends of what the child got in any case: a pipe ends when its last writer is closed. */
function startSandbox(
  deps: WorkspaceDeps,
  place: SandboxPlace & { readonly workFolder: string },
  command: { readonly request: ExecRequest; readonly stdout: number; readonly stderr: number },
): Started {
  const opened = [command.stdout, command.stderr];
  try {
    const filter = openFilter(place);
    if (filter !== null) opened.push(filter);
    const layout = { ...place, environment: { ...place.environment, ...command.request.environment } };
    const flags = sandboxFlags(
      { ...layout, seccompDescriptor: filter === null ? null : 4 },
      commandInside(place, command.request.program),
    );
    const own = filter === null ? 4 : 5; // descriptors of the sandbox: three streams, bubblewrap's status, the filter
    const gate = place.confinement.admit === null ? null : own;
    const firstForeign = gate === null ? own : own + 1;
    const limits = place.confinement.processLimits(command.request.timeoutMs);
    const [program = "", ...rest] = launcher(deps, { limits, gate, firstForeign });
    const child = spawn(program, [...rest, "--json-status-fd", "3", ...flags], {
      cwd: "/",
      env: {},
      stdio: [
        ...(["ignore", command.stdout, command.stderr, "pipe"] as const),
        ...(filter === null ? [] : [filter]),
        ...(gate === null ? [] : ["pipe" as const]),
      ],
      ...runUid(place),
    });
    return { child, gate: gate === null ? null : (child.stdio.at(gate) as Writable) };
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

/**
 * INVARIANT: nothing of a sandbox is ever outside its group (test/workspace/confinement.test.ts). The launcher waits for a
 * line and ends by itself without one; it gets it when the kernel has taken it in. Answers with why it was not.
 */
async function admit({ admit: take }: Confinement, child: ChildProcess, gate: Writable | null): Promise<unknown> {
  if (take === null || gate === null || child.pid === undefined) return null;
  gate.on("error", () => {}); // a launcher that has ended meanwhile is told of by its end
  try {
    await take(child.pid);
    gate.end("\n");
    return null;
  } catch (error) {
    gate.destroy();
    return error;
  }
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

async function register(deps: WorkspaceDeps, status: SandboxStatus): Promise<() => void> {
  const init = await status.init;
  return init === null ? () => {} : deps.registerProcess("a sandbox", { pid: init.pid, paths: [], mounts: [] });
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
