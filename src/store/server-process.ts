import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { open, readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError } from "../domain/index.ts";
import { lastLine } from "./cluster.ts";
import type { PostgresPrograms } from "./postgres-programs.ts";
import { isAlive, type ProcessIdentity, startTimeOf } from "./process-register.ts";
import { refuseFullDisk, type StorePlace } from "./service-folder.ts";
import { endProcess } from "./sweep-leftovers.ts";

/** A server with much to recover after a crash takes its time; it is alive meanwhile, and that is watched. */
const readyTimeoutMs = 120_000;
const pollMs = 10;
/** A larger log is begun anew at a start. */
const logLimitBytes = 4 * 1024 * 1024;

/** PostgreSQL documentation, "Shutting Down the Server": fast, then immediate, and then without asking. */
const stopSteps = [
  { name: "SIGINT", timeoutMs: 30_000 },
  { name: "SIGQUIT", timeoutMs: 5_000 },
  { name: "SIGKILL", timeoutMs: 5_000 },
] as const;

/**
 * Settings on the command line, so that the cluster's own files need no change and a later version can't meet old ones.
 * Loopback TCP with a password rather than a unix socket: a socket's path is limited to 107 bytes, and home may lie deep;
 * one way for all is one way to test. Sandboxed code has a network namespace of its own and can't reach the port.
 */
function settingsOf(port: number): readonly string[] {
  return Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    max_connections: "100",
    max_wal_size: "256MB",
    // Files in the cluster's folder: a container's /dev/shm may be tiny, and nothing is left there after a crash.
    dynamic_shared_memory_type: "mmap",
    huge_pages: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements and row values are not for the log (AUD-78).
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    restart_after_crash: "on",
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/**
 * Starts the server detached, in a session of its own: the terminal's SIGINT ends us, and we end it, in that order.
 * `onStart` is called as soon as there is a pid. Throws `EMBEDDED_DATABASE_FAILED` where it ends before it is ready; does
 * not end it when aborted, which is for the caller, who knows whether others use it.
 */
export async function startServer(
  place: StorePlace,
  programs: PostgresPrograms,
  { port, onStart }: { port: number; onStart(server: ProcessIdentity): void },
  signal: AbortSignal,
): Promise<ProcessIdentity> {
  // The folder is the database user's: a link that it put there must not make us write elsewhere.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  await using log = await open(place.log, flags, 0o600);
  if ((await log.stat()).size > logLimitBytes) await log.truncate(0);
  signal.throwIfAborted();
  const child = spawn(join(programs.folder, "bin", "postgres"), ["-D", place.cluster, ...settingsOf(port)], {
    cwd: place.cluster,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
    stdio: ["ignore", log.fd, log.fd],
    detached: true,
    ...(place.user ?? {}),
  });
  child.unref();
  const failed = new Promise<never>((_, onError) => {
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const message = `the database server could not be started: ${cause.code}`;
      onError(new CountersignError("EMBEDDED_DATABASE_FAILED", message, { cause }));
    });
  });
  if (child.pid === undefined) return failed;
  const server = { pid: child.pid, startTime: startTimeOf(child.pid) ?? 0 };
  onStart(server);
  await waitUntilReady(place, server, signal);
  return server;
}

/**
 * Waits until the server says so in its own `postmaster.pid` (line 1: pid, line 8: status; PostgreSQL source,
 * `pidfile.h`): a port that answers could be another server's.
 */
export async function waitUntilReady(place: StorePlace, server: ProcessIdentity, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs;
  for (;;) {
    signal.throwIfAborted();
    const lines = (await readOrEmpty(join(place.cluster, "postmaster.pid"))).split("\n");
    if (lines[0] === String(server.pid) && lines[7]?.trim() === "ready") return;
    if (!isAlive(server.pid, server.startTime)) throw await whyItEnded(place);
    if (performance.now() > deadline) {
      const message = `the database server (pid ${server.pid}) is not ready after ${readyTimeoutMs / 1000} s`;
      throw new CountersignError("EMBEDDED_DATABASE_FAILED", `${message}; its log is \`${place.log}\``);
    }
    await delay(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

async function whyItEnded(place: StorePlace): Promise<unknown> {
  try {
    await refuseFullDisk(place.database, 8 * 1024 * 1024);
  } catch (error) {
    return error;
  }
  const reason = lastLine(await readOrEmpty(place.log));
  return new CountersignError("EMBEDDED_DATABASE_FAILED", `the database server ended: ${reason} (\`${place.log}\`)`);
}

/** Fast shutdown, and harder where it doesn't end. True where it is gone. */
export async function stopServer(server: ProcessIdentity): Promise<boolean> {
  for (const step of stopSteps) {
    if (await endProcess(server, step.name, step.timeoutMs)) return true;
  }
  return false;
}

/**
 * Postmasters that run on this cluster, found by their current folder: also one that was started by a process that was
 * killed before it could note the pid. Its children have the same folder, and a parent among the found.
 */
export async function findServers(cluster: string): Promise<readonly ProcessIdentity[]> {
  const found = new Map<number, { readonly startTime: number; readonly parent: number }>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name) || (await readlink(`/proc/${name}/cwd`).catch(() => "")) !== cluster) continue;
    const stat = await readOrEmpty(`/proc/${name}/stat`);
    const startTime = startTimeOf(Number(name));
    if (startTime === null || !stat.includes("(postgres)")) continue;
    found.set(Number(name), { startTime, parent: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) });
  }
  return [...found].flatMap(([pid, { startTime, parent }]) => (found.has(parent) ? [] : [{ pid, startTime }]));
}

/** The port if nobody listens there, else a free one. */
export async function freePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? wanted;
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(null));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}

const readOrEmpty = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");
