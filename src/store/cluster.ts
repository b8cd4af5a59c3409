import { spawn } from "node:child_process";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { CountersignError, type RandomBytes, Secret } from "../domain/index.ts";
import type { PostgresPrograms } from "./postgres-programs.ts";
import { makeFolder, neededBytes, refuseFullDisk, type StorePlace } from "./service-folder.ts";

/** The one role of the embedded server. */
export const embeddedUser = "countersign";

/**
 * The cluster's folder, made by `initdb` if there is none yet. It appears whole or not at all. Throws
 * `EMBEDDED_DATABASE_FAILED`, `DISK_FULL`, `BUBBLEWRAP_MISSING`. Call it under the start lock.
 */
export async function prepareCluster(
  place: StorePlace,
  programs: PostgresPrograms,
  password: string,
  signal: AbortSignal,
): Promise<void> {
  for (const name of await readdir(place.database)) {
    if (name.endsWith(".new")) await rm(join(place.database, name), { recursive: true, force: true });
  }
  const owner = await stat(place.cluster).catch(() => null);
  if (owner !== null) {
    await refuseForeign(place, programs, owner.uid);
    return;
  }
  await refuseFullDisk(place.database, neededBytes);
  const half = `${place.cluster}.new`;
  try {
    await initialize(place, programs, { folder: half, password }, signal);
    await rename(half, place.cluster);
    await sync(place.database);
  } catch (error) {
    await rm(half, { recursive: true, force: true });
    // A full disk shows first as a failure of the program that met it.
    await refuseFullDisk(place.database, neededBytes / 8);
    throw error;
  }
}

async function refuseForeign(place: StorePlace, programs: PostgresPrograms, ownerUid: number): Promise<void> {
  const uid = place.user?.uid ?? process.getuid?.();
  if (ownerUid !== uid) {
    throw failure(`\`${place.cluster}\` belongs to user id ${ownerUid}, and the server would run as ${uid}`, {
      remedy: "start as the user that made the folder, or set COUNTERSIGN_HOME to another one",
    });
  }
  const version = await readFile(join(place.cluster, "PG_VERSION"), "utf8").catch(() => "");
  if (version.trim() === String(programs.major)) return;
  const made = version.trim() === "" ? "no version" : `version ${version.trim()}`;
  throw failure(`\`${place.cluster}\` is of ${made}, and PostgreSQL here is ${programs.major}`, {
    remedy: "restore the folder from your backup, or move it to this version with `pg_dump` and `psql`",
  });
}

/**
 * `initdb` asks the system who its user is, and ends if there is no answer: neither the database's user id nor an id given
 * by a container need stand in /etc/passwd. In bubblewrap it sees a passwd file of ours. The server itself never asks.
 */
async function initialize(
  place: StorePlace,
  programs: PostgresPrograms,
  { folder, password }: { folder: string; password: string },
  signal: AbortSignal,
): Promise<void> {
  const uid = place.user?.uid ?? process.getuid?.() ?? 0;
  const gid = place.user?.gid ?? process.getgid?.() ?? 0;
  const files = [
    { path: "/etc/passwd", content: `${embeddedUser}:x:${uid}:${gid}::/:/bin/sh\n` },
    { path: "/etc/group", content: `${embeddedUser}:x:${gid}:\n` },
    { path: "/etc/password", content: `${password}\n` },
  ];
  const sandbox = ["--ro-bind", "/", "/", "--dev", "/dev", "--bind", place.database, place.database, "--tmpfs", "/etc"];
  const child = spawn(
    "bwrap",
    [
      ...sandbox,
      ...["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--die-with-parent", "--new-session"],
      ...files.flatMap(({ path }, index) => ["--perms", "0400", "--ro-bind-data", String(index + 3), path]),
      ...["--", join(programs.folder, "bin", "initdb"), "-D", folder, `--username=${embeddedUser}`],
      ...["--pwfile=/etc/password", "--auth-local=reject", "--auth-host=scram-sha-256", "--no-instructions"],
      ...["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    ],
    {
      cwd: "/",
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", "pipe"],
      ...(place.user ?? {}),
      signal,
      killSignal: "SIGKILL",
    },
  );
  const ended = new Promise<number | null>((onEnd, onError) => {
    child.on("error", onError);
    child.on("close", onEnd);
  });
  for (const [index, { content }] of files.entries()) {
    const pipe = child.stdio[index + 3] as Writable | null | undefined;
    // A child that ends early closes its end; its exit code says so better.
    pipe?.on("error", () => undefined);
    pipe?.end(content);
  }
  const [exitCode, errors] = await Promise.all([ended, text(child.stderr as Readable)]).catch((cause) => {
    throw whyNotStarted(cause, signal);
  });
  if (exitCode === 0) return;
  throw failure(`\`initdb\` ended with status ${exitCode}: ${lastLine(errors)}`);
}

function whyNotStarted(cause: NodeJS.ErrnoException, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (cause.code === "ENOENT") return new CountersignError("BUBBLEWRAP_MISSING", "`bwrap` was not found", { cause });
  return failure(`\`bwrap\` could not be started: ${cause.code}`, { cause });
}

function failure(message: string, options: { cause?: unknown; remedy?: string } = {}): CountersignError {
  return new CountersignError("EMBEDDED_DATABASE_FAILED", message, options);
}

export const lastLine = (output: string): string => output.trimEnd().split("\n").at(-1) ?? "";

/** Makes a rename in this folder, or a new file in it, outlive a power cut. */
async function sync(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

const passwordFile = "database-password";

/** The embedded server's password, once it was made: nobody else is to see it (SEC-103). */
export const readEmbeddedPassword = async (home: string): Promise<Secret> =>
  new Secret((await readFile(join(home, "keys", passwordFile), "utf8")).trim());

/**
 * The server's password: made once, kept in `keys` (0600). Throws `KEYS_UNUSABLE` where the cluster is there and its
 * password isn't.
 */
export async function preparePassword(randomBytes: RandomBytes, place: StorePlace): Promise<string> {
  await makeFolder(place.keys, 0o700);
  const path = join(place.keys, passwordFile);
  const known = (await readFile(path, "utf8").catch(() => "")).trim();
  if (known !== "") return known;
  if (await stat(place.cluster).catch(() => null)) {
    throw new CountersignError("KEYS_UNUSABLE", `\`${path}\` is missing or empty, and the database needs it`);
  }
  const password = Buffer.from(randomBytes(32)).toString("hex");
  await using handle = await open(path, "w", 0o600);
  await handle.writeFile(`${password}\n`);
  await handle.sync();
  await sync(place.keys);
  return password;
}
