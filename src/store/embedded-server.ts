import { rmSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { Client, DatabaseError } from "pg";
import { CountersignError, type RandomBytes } from "../domain/index.ts";
import { embeddedUser, prepareCluster, preparePassword } from "./cluster.ts";
import { connectTimeoutMs } from "./connection.ts";
import { type PostgresPrograms, preparePrograms } from "./postgres-programs.ts";
import { isAlive, type ProcessIdentity, readRegister, registerProcess } from "./process-register.ts";
import { findServers, freePort, startServer, stopServer, waitUntilReady } from "./server-process.ts";
import { forgetServer, type RunningServer, readServer, rememberServer } from "./server-record.ts";
import {
  makeFolder,
  makeHome,
  placeOf,
  refuseUnreachable,
  type StorePlace,
  translateFileError,
  type UserId,
} from "./service-folder.ts";
import { takeStartLock } from "./start-lock.ts";

export type EmbeddedDeps = { readonly randomBytes: RandomBytes; notice(line: string): void };
export type EmbeddedOptions = {
  readonly home: string;
  readonly databaseUid: UserId | null;
  /** Made where it is missing. */
  readonly database: string;
};

/** A running server, ours until `release`. */
export type EmbeddedServer = { readonly databaseUrl: string; release(): Promise<void> };

/**
 * User and group of the server where root starts us and names none: PostgreSQL refuses to run as root. An id that owns
 * nothing, just below the example range of `COUNTERSIGN_RUN_UIDS`; it needs no entry in /etc/passwd.
 */
const defaultDatabaseUser: UserId = { uid: 64_199, gid: 64_199 };

/** What the users of one server are called in the process register. */
const clientLabel = "user of the embedded database";
/** A stop that waits longer for another one's start or stop is given up; the next start ends what is left. */
const releaseTimeoutMs = 60_000;
/** Someone else may take the port between our look and the server's start. */
const portTries = 3;

/**
 * Starts the embedded server of this home, or joins the processes that use it already. The last one to release it stops
 * it. One left by a killed process is ended first, and named through `notice`. Leaves no process and no lock behind when
 * it throws: `STORE_PATH_UNREACHABLE`, `DISK_FULL`, `BUBBLEWRAP_MISSING`, `KEYS_UNUSABLE`, `LOCK_HELD`,
 * `EMBEDDED_DATABASE_FAILED`, or the reason of the signal.
 */
export async function useEmbeddedServer(
  deps: EmbeddedDeps,
  options: EmbeddedOptions,
  signal: AbortSignal,
): Promise<EmbeddedServer> {
  try {
    const place = await preparePlace(options);
    const giveBackLock = await takeStartLock(place.processes, signal);
    try {
      return await enter(deps, place, options.database, signal);
    } finally {
      await giveBackLock();
    }
  } catch (error) {
    throw translateFileError(error, options.home);
  }
}

async function preparePlace({ home, databaseUid }: EmbeddedOptions): Promise<StorePlace> {
  const isRoot = process.geteuid?.() === 0;
  const user = isRoot ? (databaseUid ?? defaultDatabaseUser) : null;
  // Real paths: the server's current folder is compared with them.
  const place = placeOf(await realpath(await makeHome(home)), user);
  if (user !== null) await refuseUnreachable(place.home, user);
  await makeFolder(place.processes, 0o700);
  await makeFolder(place.database, 0o700, user);
  return place;
}

/** Under the lock: be counted as a user of the server, then see to it that there is one. */
async function enter(
  deps: EmbeddedDeps,
  place: StorePlace,
  database: string,
  signal: AbortSignal,
): Promise<EmbeddedServer> {
  forgetDeadUsers(place.home);
  const othersUseIt = isInUse(place.home);
  const leave = registerProcess(place.home, clientLabel, { pid: null, paths: [], mounts: [] });
  try {
    const programs = await preparePrograms(place.cache);
    const password = await preparePassword(deps.randomBytes, place);
    await prepareCluster(place, programs, password, signal);
    const running =
      (othersUseIt && (await joinServer(place, signal))) || (await startAnew(deps, place, programs, signal));
    const databaseUrl = urlOf(running.port, password, database);
    await ensureDatabase(databaseUrl, urlOf(running.port, password, "postgres"), database);
    return { databaseUrl, release: () => release(place, leave) };
  } catch (error) {
    leave();
    await stopIfUnused(place);
    throw error;
  }
}

/** Records of users that were killed: there is nothing to end or remove for them. */
function forgetDeadUsers(home: string): void {
  for (const { path, ownerIsAlive, record } of readRegister(home)) {
    if (!ownerIsAlive && record?.what === clientLabel) rmSync(path, { force: true });
  }
}

const isInUse = (home: string): boolean =>
  readRegister(home).some(({ ownerIsAlive, record }) => ownerIsAlive && record?.what === clientLabel);

/** The server that others use; null where it has ended under them. */
async function joinServer(place: StorePlace, signal: AbortSignal): Promise<RunningServer | null> {
  const server = readServer(place.processes);
  if (server === null || !isAlive(server.pid, server.startTime)) return null;
  await waitUntilReady(place, server, signal);
  return server;
}

async function startAnew(
  deps: EmbeddedDeps,
  place: StorePlace,
  programs: PostgresPrograms,
  signal: AbortSignal,
): Promise<RunningServer> {
  await endOrphans(deps, place);
  // Processes that still use a server which ended by itself find the new one where the old one was.
  const lastPort = readServer(place.processes)?.port ?? 0;
  for (let tries = 1; ; tries += 1) {
    const port = await freePort(tries === 1 ? lastPort : 0);
    const onStart = (server: ProcessIdentity): void => rememberServer(place.processes, { ...server, port });
    try {
      return { ...(await startServer(place, programs, { port, onStart }, signal)), port };
    } catch (error) {
      if (tries === portTries || signal.aborted || (await freePort(port)) === port) throw error;
    }
  }
}

/** Ends the servers of a home that nobody uses any more, and says so. Throws `EMBEDDED_DATABASE_FAILED` where one does not end. */
export async function endAbandonedServers(deps: Pick<EmbeddedDeps, "notice">, home: string): Promise<void> {
  if (!isInUse(home)) await endOrphans(deps, placeOf(await realpath(home), null));
}

async function endOrphans(deps: Pick<EmbeddedDeps, "notice">, place: StorePlace): Promise<void> {
  for (const orphan of await findServers(place.cluster)) {
    if (!(await stopServer(orphan))) {
      throw new CountersignError(
        "EMBEDDED_DATABASE_FAILED",
        `the old database server (pid ${orphan.pid}) does not end`,
      );
    }
    deps.notice(`ended the embedded database server (pid ${orphan.pid}) that a killed process had left`);
  }
}

function urlOf(port: number, password: string, database: string): string {
  // What the driver would else take from PGSSLMODE and PGOPTIONS is not meant for this server.
  return `postgresql://${embeddedUser}:${password}@127.0.0.1:${port}/${database}?sslmode=disable&options=-c%20datestyle%3DISO`;
}

/** SQLSTATE codes, PostgreSQL documentation, appendix A. */
const sqlState = { noSuchDatabase: "3D000", databaseExists: "42P04", badPassword: "28P01" } as const;

async function ensureDatabase(databaseUrl: string, maintenanceUrl: string, database: string): Promise<void> {
  const isThere = await query(databaseUrl, "select 1", sqlState.noSuchDatabase);
  if (!isThere) await query(maintenanceUrl, `create database "${database}"`, sqlState.databaseExists);
}

/** False where the server answers with the code expected. */
async function query(url: string, text: string, expected: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(text);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === expected) return false;
    throw unusable(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function unusable(cause: unknown): CountersignError {
  if (cause instanceof DatabaseError && cause.code === sqlState.badPassword) {
    return new CountersignError("KEYS_UNUSABLE", "the database refuses the password in `keys/database-password`", {
      cause,
    });
  }
  const reason = cause instanceof Error ? cause.message : "no answer";
  return new CountersignError("EMBEDDED_DATABASE_FAILED", `the embedded database can't be used: ${reason}`, { cause });
}

async function release(place: StorePlace, leave: () => void): Promise<void> {
  const giveBackLock = await takeStartLock(place.processes, AbortSignal.timeout(releaseTimeoutMs));
  try {
    leave();
    await stopIfUnused(place);
  } finally {
    await giveBackLock();
  }
}

async function stopIfUnused(place: StorePlace): Promise<void> {
  const server = readServer(place.processes);
  if (server === null || isInUse(place.home)) return;
  if (await stopServer(server)) forgetServer(place.processes);
}
