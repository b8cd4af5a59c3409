import { hash } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CountersignError, isFullDisk, type RandomBytes } from "../domain/index.ts";

/** A folder of key files and the only way to read and write in it. */
export type KeyFolder = { readonly path: string; readonly randomBytes: RandomBytes };

/** First word of each file: the form below, version 1. */
const form = "countersign-key/1";

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

function unusable(path: string, why: string, options: { cause?: unknown; remedy?: string } = {}): CountersignError {
  return new CountersignError("KEYS_UNUSABLE", `the key file \`${path}\` ${why}`, { ...options, details: { path } });
}

function diskFull(path: string, cause: unknown): CountersignError {
  return new CountersignError("DISK_FULL", `no space to write the key file \`${path}\``, { cause });
}

/** Tells a file that was cut off, changed or put in another's place; it is no secret and no proof against a forger. */
const checkOf = (name: string, hex: string): string => hash("sha256", `${form}\n${name}\n${hex}`, "hex").slice(0, 16);

/**
 * The bytes in the key file of this name, or null where there is none. Throws `KEYS_UNUSABLE` with the path where the file
 * is damaged, half-written, another's, or open to other users.
 */
export async function readKeyFile(folder: KeyFolder, name: string): Promise<Uint8Array | null> {
  const path = join(folder.path, name);
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) {
      throw unusable(path, "can be read by others", {
        remedy: `type \`chmod 600 ${path}\`, and ask who may have read it`,
      });
    }
    return decode(path, name, await file.readFile("utf8"));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    if (error instanceof CountersignError) throw error;
    throw unusable(path, "can't be read", { cause: error });
  }
}

function decode(path: string, name: string, text: string): Uint8Array {
  const [, foundName, hex, check] = /^countersign-key\/1 (\S+) ((?:[0-9a-f]{2})+) ([0-9a-f]{16})\n$/.exec(text) ?? [];
  if (foundName === undefined || hex === undefined || check !== checkOf(foundName, hex)) {
    throw unusable(path, "is damaged or half-written");
  }
  if (foundName !== name) throw unusable(path, `holds the key \`${foundName}\``);
  return Buffer.from(hex, "hex");
}

/**
 * Writes a key file, once: of several processes that try at the same time one succeeds, and all get what that one wrote.
 * The file is complete and durable before it has its name, and its name is durable before this returns.
 */
export async function createKeyFile(folder: KeyFolder, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const path = join(folder.path, name);
  const temporary = draftOf(folder, path);
  try {
    await createFolder(dirname(path));
    await writeDurably(temporary, encode(name, bytes));
    try {
      await link(temporary, path); // unlike a rename it fails where the name is taken
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    } finally {
      await unlink(temporary);
    }
    await syncFolder(dirname(path));
  } catch (error) {
    throw notWritten(path, error);
  }
  const stored = await readKeyFile(folder, name);
  if (stored === null) throw unusable(path, "was deleted while it was being written");
  return stored;
}

/**
 * Writes several key files, of new names below one new folder: it is complete and durable before it has its name, and its
 * name is durable before this returns. False where there is a folder of that name; then nothing is changed.
 */
export async function createKeyFolder(
  folder: KeyFolder,
  name: string,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<boolean> {
  const path = join(folder.path, name);
  const draft = draftOf(folder, path);
  try {
    await createFolder(dirname(path));
    await mkdir(draft, { mode: 0o700 });
    await Promise.all(
      [...files].map(([file, bytes]) => writeDurably(join(draft, file), encode(`${name}/${file}`, bytes))),
    );
    await syncFolder(draft);
    await rename(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw notWritten(path, error);
  }
}

/** What is written under this name is no key yet. */
const draftOf = (folder: KeyFolder, path: string): string =>
  `${path}.${Buffer.from(folder.randomBytes(8)).toString("hex")}.new`;

function encode(name: string, bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${form} ${name} ${hex} ${checkOf(name, hex)}\n`;
}

function notWritten(path: string, cause: unknown): CountersignError {
  if (isFullDisk(cause)) return diskFull(path, cause);
  return unusable(path, "can't be written", {
    cause,
    remedy: "let the user that runs Countersign write into that folder, on a file system that has hard links",
  });
}

/** Makes a folder that only its owner can enter, durably; nothing where there is one. */
export async function createFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await unlink(path);
    throw error;
  }
}

export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await folder.sync();
}
