import { statSync } from "node:fs";
import { chmod, chown, mkdir, readdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CountersignError, isFullDisk } from "../domain/index.ts";

/** A user and group id. */
export type UserId = { readonly uid: number; readonly gid: number };

/** Less than this is not enough for a new cluster (about 40 MB) and its programs (about 45 MB). */
export const neededBytes = 128 * 1024 * 1024;

/** Makes a folder (and home above it) with the mode asked for, whatever the umask; leaves an existing one as it is. */
export async function makeFolder(path: string, mode: number, owner: UserId | null = null): Promise<string> {
  const made = await mkdir(path, { recursive: true, mode });
  if (made === undefined) return path;
  for (let folder = path; ; folder = dirname(folder)) {
    await chmod(folder, folder === path ? mode : 0o711);
    if (folder === made) break;
  }
  if (owner !== null) await chown(path, owner.uid, owner.gid);
  return path;
}

/** Home: 0711, so that the database's and the runs' users can pass (SEC-47). One that holds files of others keeps its mode. */
export async function makeHome(path: string): Promise<string> {
  const home = resolve(path);
  await makeFolder(home, 0o711);
  const isOurs = (await stat(home)).uid === process.getuid?.();
  if (isOurs && (await readdir(home)).length === 0) await chmod(home, 0o711);
  return home;
}

/**
 * Throws `STORE_PATH_UNREACHABLE` where we are root and home is another user's: what root makes there would lock that user
 * out of its own service.
 */
export async function refuseForeignHome(home: string): Promise<void> {
  if (process.geteuid?.() !== 0) return;
  const found = await stat(home).catch(() => null); // what can't be looked at is told by whoever opens it
  if (found === null || found.uid === 0) return;
  throw new CountersignError(
    "STORE_PATH_UNREACHABLE",
    `\`${home}\` belongs to user id ${found.uid}, and this is root`,
    {
      details: { uid: found.uid },
      remedy: `run it as that user, for example with \`sudo -u '#${found.uid}'\`, or set COUNTERSIGN_HOME to a folder of root's`,
    },
  );
}

/**
 * Throws `STORE_PATH_UNREACHABLE`, with path, uid and mode, where a folder on the way can't be entered by a user that is
 * not root and in no group but its own (SEC-47).
 */
export async function refuseUnreachable(path: string, { uid, gid }: UserId): Promise<void> {
  const parent = dirname(path);
  if (parent !== path) await refuseUnreachable(parent, { uid, gid });
  const found = await stat(path);
  const enterBit = bitFor(found, { uid, gid });
  if ((found.mode & enterBit) !== 0) return;
  const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
  throw new CountersignError(
    "STORE_PATH_UNREACHABLE",
    `\`${path}\` (mode ${mode}) can't be entered by user id ${uid}, which runs the embedded PostgreSQL`,
    {
      details: { uid, mode },
    },
  );
}

function bitFor(found: { uid: number; gid: number }, { uid, gid }: UserId): number {
  if (found.uid === uid) return 0o100;
  return found.gid === gid ? 0o010 : 0o001;
}

/** Throws `DISK_FULL` where less than `bytes` are free for us. */
export async function refuseFullDisk(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes) return;
  const megabytes = Math.floor(freeBytes / 1024 ** 2);
  throw new CountersignError("DISK_FULL", `${megabytes} MiB are free at \`${path}\`, ${bytes / 1024 ** 2} are needed`, {
    details: { freeBytes },
  });
}

const unreachableCodes = new Set(["EACCES", "EPERM", "ENOTDIR", "EROFS", "ELOOP", "ENAMETOOLONG"]);

/** What the file system said about a path of the service folder, in our words; anything else goes through. */
export function translateFileError(error: unknown, home: string): unknown {
  const { code, path, dest } = error instanceof Error ? (error as NodeJS.ErrnoException & { dest?: string }) : {};
  const at = dest ?? path ?? home;
  if (isFullDisk(error)) {
    return new CountersignError("DISK_FULL", `no space is left at \`${at}\``, { cause: error });
  }
  if (code === undefined || !unreachableCodes.has(code)) return error;
  const uid = process.getuid?.() ?? -1;
  return new CountersignError("STORE_PATH_UNREACHABLE", `\`${at}\` can't be used by user id ${uid}: ${code}`, {
    cause: error,
    details: { uid, code },
    ...ownerRemedy(at, home, uid),
  });
}

/** Below a home that can be entered, the way in is closed by whoever owns what lies there. */
function ownerRemedy(at: string, home: string, uid: number): { readonly remedy?: string } {
  for (let folder = at; folder.startsWith(home); folder = dirname(folder)) {
    const owner = ownerOf(folder);
    if (owner !== null && owner !== uid) {
      return { remedy: `\`${folder}\` belongs to user id ${owner}: run as that user, or give it to user id ${uid}` };
    }
    if (folder === dirname(folder)) break;
  }
  return {};
}

function ownerOf(path: string): number | null {
  try {
    return statSync(path).uid;
  } catch {
    return null;
  }
}

/** Where the parts of the store lie below home. */
export type StorePlace = {
  readonly home: string;
  readonly keys: string;
  readonly cache: string;
  readonly database: string;
  readonly cluster: string;
  readonly log: string;
  readonly processes: string;
  /** Whom the server runs as; null is ourselves. */
  readonly user: UserId | null;
};

export function placeOf(home: string, user: UserId | null): StorePlace {
  const database = join(home, "database");
  return {
    home,
    keys: join(home, "keys"),
    cache: join(home, "cache"),
    database,
    cluster: join(database, "cluster"),
    log: join(database, "server.log"),
    processes: join(home, "processes"),
    user,
  };
}
