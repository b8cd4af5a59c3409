import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";

/** A process that a reused pid can't be taken for. `startTime` is field 22 of /proc/PID/stat: clock ticks since boot (proc(5)). */
export type ProcessIdentity = { readonly pid: number; readonly startTime: number };

const Identity = z.strictObject({ pid: z.int().positive(), startTime: z.int().nonnegative() });
const Registration = z.strictObject({
  what: z.string(),
  /** Null where only folders or mounts are registered. */
  process: Identity.nullable(),
  owner: Identity,
  /** Start times of two boots can't be compared. */
  bootId: z.string(),
  paths: z.array(z.string()),
  mounts: z.array(z.string()),
  /** Folders of control groups; records of earlier versions have none. */
  cgroups: z.array(z.string()).default([]),
});
export type Registration = z.infer<typeof Registration>;

/** What to register; `pid` is null for folders and mounts without a process of their own. */
export type Registered = {
  readonly pid: number | null;
  readonly paths: readonly string[];
  readonly mounts: readonly string[];
  readonly cgroups?: readonly string[];
};

const nameForm = /^(\d+)-(\d+)-[0-9a-f]{16}\.json$/;

/** Folder of the register; 0700. */
const registerFolder = (home: string): string => join(home, "processes");

/** Null where the process is gone; a zombie counts as gone, for nobody may ever reap it. */
export function startTimeOf(pid: number): number | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command in parentheses may hold spaces and parentheses: count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
}

/** Whether this very process still runs, and not another one with its pid. */
export const isAlive = (pid: number, startTime: number): boolean => startTimeOf(pid) === startTime;

export function currentBootId(): string {
  return (readOrNull("/proc/sys/kernel/random/boot_id") ?? "").trim();
}

/**
 * Remembers in `home/processes` that a process, folders or mounts are ours, so that the next start finds them if we are
 * killed (SEC-61). Call it before the effect where the pid isn't needed, right after it otherwise. Synchronous, so that
 * nothing comes between. The function returned forgets them again; it never throws for what is already gone.
 */
export function registerProcess(home: string, what: string, registered: Registered): () => void {
  const folder = registerFolder(home);
  // Whoever comes first makes home, and other users have to pass it and what was made above it (SEC-47).
  const made = mkdirSync(home, { recursive: true });
  for (let place = home; made !== undefined; place = dirname(place)) {
    chmodSync(place, 0o711);
    if (place === made) break;
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = { pid: process.pid, startTime: startTimeOf(process.pid) ?? 0 };
  const startTime = registered.pid === null ? null : startTimeOf(registered.pid);
  const record: Registration = {
    what,
    process: registered.pid === null || startTime === null ? null : { pid: registered.pid, startTime },
    owner,
    bootId: currentBootId(),
    paths: [...registered.paths],
    mounts: [...registered.mounts],
    cgroups: [...(registered.cgroups ?? [])],
  };
  const path = join(folder, `${owner.pid}-${owner.startTime}-${randomBytes(8).toString("hex")}.json`);
  // A sweep must not read half a record.
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return () => rmSync(path, { force: true });
}

/** All records of the register, with whether their owner lives. A record cut short by a crash is left out, but listed. */
export function readRegister(home: string): readonly {
  readonly path: string;
  readonly ownerIsAlive: boolean;
  readonly record: Registration | null;
}[] {
  const folder = registerFolder(home);
  return listOrNone(folder).flatMap((name) => {
    const parts = nameForm.exec(name.replace(/\.new$/, ""));
    if (parts === null) return [];
    const path = join(folder, name);
    const record = name.endsWith(".new") ? null : parse(readOrNull(path));
    const sameBoot = record === null || record.bootId === currentBootId();
    return [{ path, ownerIsAlive: sameBoot && isAlive(Number(parts[1]), Number(parts[2])), record }];
  });
}

function parse(text: string | null): Registration | null {
  try {
    return Registration.parse(JSON.parse(text ?? ""));
  } catch {
    return null;
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function listOrNone(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
