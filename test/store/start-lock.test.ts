import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startTimeOf } from "../../src/store/index.ts";
import { takeStartLock } from "../../src/store/start-lock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
const putLock = (number: number, holder: object | null): void =>
  writeFileSync(join(folder, `database.lock.${number}`), JSON.stringify({ holder }));

it("has one holder at a time, also where all start from a dead holder's file", async () => {
  putLock(7, { pid: process.pid, startTime: 1, bootId });
  let holders = 0;
  let most = 0;
  const takeOnce = async (): Promise<void> => {
    const giveBack = await takeStartLock(folder, never);
    holders += 1;
    most = Math.max(most, holders);
    await new Promise((done) => setImmediate(done));
    holders -= 1;
    await giveBack();
  };

  await Promise.all(Array.from({ length: 12 }, takeOnce));

  expect(most).toBe(1);
});

it("waits for a living holder, and gives up when aborted", async () => {
  const holder = spawn("sleep", ["60"]);
  try {
    putLock(1, { pid: holder.pid, startTime: startTimeOf(holder.pid ?? 0), bootId });
    const stop = new AbortController();
    const waiting = takeStartLock(folder, stop.signal);
    stop.abort(new Error("enough"));

    await expect(waiting).rejects.toThrow("enough");
  } finally {
    holder.kill("SIGKILL");
  }
});

it.each([
  ["whose pid another process has", { pid: process.pid, startTime: 1, bootId }],
  ["of an earlier start of the machine", { pid: process.pid, startTime: startTimeOf(process.pid), bootId: "earlier" }],
  ["that gave it back", null],
])("is free after a holder %s", async (_, holder) => {
  putLock(3, holder);

  const giveBack = await takeStartLock(folder, never);
  await giveBack();

  expect(JSON.parse(readFileSync(join(folder, "database.lock.4"), "utf8"))).toEqual({ holder: null });
});

it("is free after a holder that was killed while holding it", async () => {
  const holder = spawn("sleep", ["60"]);
  putLock(1, { pid: holder.pid, startTime: startTimeOf(holder.pid ?? 0), bootId });
  const taken = takeStartLock(folder, never);

  holder.kill("SIGKILL");

  await expect(taken.then((giveBack) => giveBack())).resolves.toBeUndefined();
});
