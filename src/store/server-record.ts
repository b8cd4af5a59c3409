import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { currentBootId, type ProcessIdentity } from "./process-register.ts";

const ServerRecord = z.strictObject({
  pid: z.int().positive(),
  startTime: z.int().nonnegative(),
  port: z.int().positive(),
  bootId: z.string(),
});

/** The server that runs, or ran last. */
export type RunningServer = ProcessIdentity & { readonly port: number };

const pathIn = (folder: string): string => join(folder, "database.json");

/** Synchronous, so that nothing comes between the start of the server and its being known. */
export function rememberServer(folder: string, server: RunningServer): void {
  const record = { pid: server.pid, startTime: server.startTime, port: server.port, bootId: currentBootId() };
  writeFileSync(`${pathIn(folder)}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${pathIn(folder)}.new`, pathIn(folder));
}

/** Null where none is known, or the machine has been started anew since. */
export function readServer(folder: string): RunningServer | null {
  try {
    const { bootId, ...server } = ServerRecord.parse(JSON.parse(readFileSync(pathIn(folder), "utf8")));
    return bootId === currentBootId() ? server : null;
  } catch {
    return null;
  }
}

export function forgetServer(folder: string): void {
  rmSync(pathIn(folder), { force: true });
}
