import { randomBytes } from "node:crypto";
import { link, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError } from "../domain/index.ts";
import { currentBootId, isAlive, startTimeOf } from "./process-register.ts";

const pollMs = 25;
/** Longer than a start with crash recovery and a stop take together. */
const lockTimeoutMs = 180_000;
const nameForm = /^database\.lock\.(\d+)$/;

/** `holder` is null once the lock was given back. */
type Content = { readonly holder: { pid: number; startTime: number; bootId: string } | null };

/**
 * Takes the lock that guards start and stop of the embedded server among the processes that use one home. Throws
 * `LOCK_HELD` after three minutes, and the reason of the signal when aborted.
 *
 * Taking over a dead holder's file by removing it would let two processes in: both see it dead, the slower one removes
 * the file that the faster one has just made. So a file is never removed to get in. The lock is the file with the highest
 * number; the next holder makes the next number, which only one process can; a number below the highest means nothing.
 * INVARIANT: one holder at a time, dead holders included (test/store/start-lock.test.ts)
 */
export async function takeStartLock(folder: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    signal.throwIfAborted();
    const highest = Math.max(0, ...(await numbersIn(folder)));
    const holder = highest === 0 ? null : await holderOf(folder, highest);
    if (holder === null && (await tryToTake(folder, highest + 1))) return () => giveBack(folder, highest + 1);
    if (performance.now() > deadline) {
      throw new CountersignError("LOCK_HELD", `the embedded database is being started or stopped by process ${holder}`);
    }
    await delay(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

async function numbersIn(folder: string): Promise<readonly number[]> {
  return (await readdir(folder)).flatMap((name) => nameForm.exec(name)?.[1] ?? []).map(Number);
}

const pathOf = (folder: string, number: number): string => join(folder, `database.lock.${number}`);

/** Pid of the living holder, or null where the lock is free. */
async function holderOf(folder: string, number: number): Promise<number | null> {
  // Gone already: a higher number has come, and the next try of ours will fail.
  const text = await readFile(pathOf(folder, number), "utf8").catch(() => '{"holder":null}');
  const { holder } = JSON.parse(text) as Content;
  if (holder === null || holder.bootId !== currentBootId()) return null;
  return isAlive(holder.pid, holder.startTime) ? holder.pid : null;
}

async function tryToTake(folder: string, number: number): Promise<boolean> {
  const holder = { pid: process.pid, startTime: startTimeOf(process.pid) ?? 0, bootId: currentBootId() };
  const path = pathOf(folder, number);
  const isNew = await place(folder, { holder }, (temporary) => link(temporary, path)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
  if (!isNew) return false;
  const numbers = await numbersIn(folder);
  if (numbers.some((other) => other > number)) {
    // We were so slow that our number has been used and removed meanwhile.
    await rm(path, { force: true });
    return false;
  }
  for (const old of numbers.filter((other) => other < number)) await rm(pathOf(folder, old), { force: true });
  return true;
}

/** The file stays: were the highest number removed, it could be made twice. */
async function giveBack(folder: string, number: number): Promise<void> {
  await place(folder, { holder: null }, (temporary) => rename(temporary, pathOf(folder, number)));
}

async function place(folder: string, content: Content, move: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(folder, `database.lock-${randomBytes(8).toString("hex")}`);
  await writeFile(temporary, JSON.stringify(content), { mode: 0o600 });
  try {
    await move(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}
