import { readFileSync, statSync } from "node:fs";
import { unlessClosed, unlessGone } from "./process-tree.ts";

/** A line of `/proc/<pid>/maps` (proc_pid_maps(5)) of memory that is shared and lies in no file system that a program can reach. */
const sharedLine =
  /^([0-9a-f]+)-([0-9a-f]+) ..[-x]s ([0-9a-f]+) (\S+) (\d+) +(?:\/dev\/zero|\/memfd:.*|\/SYSV.*) \(deleted\)$/gm;

/**
 * Bytes of the shared memory that processes have mapped, each object once, resident in one of them or not: a program can take its pages
 * out of its own page tables and still hold them. Only root is told what an object holds; else what is mapped of it counts.
 */
export function sharedMemoryOf(pids: readonly number[]): number {
  const objects = new Map<string, number>();
  for (const pid of pids) {
    const maps = unlessClosed(() => readFileSync(`/proc/${pid}/maps`, "latin1")) ?? "";
    for (const [, from = "", to = "", offset = "", device = "", inode = ""] of maps.matchAll(sharedLine)) {
      const key = `${device} ${inode}`;
      const [first, last, skipped] = [from, to, offset].map((digits) => Number.parseInt(digits, 16)) as Three;
      const file = `/proc/${pid}/map_files/${first.toString(16)}-${last.toString(16)}`; // without the leading zeros of `maps`
      objects.set(key, Math.max(objects.get(key) ?? 0, heldBytes(file) ?? skipped + last - first));
    }
  }
  return [...objects.values()].reduce((sum, bytes) => sum + bytes, 0);
}

type Three = [number, number, number];

function heldBytes(path: string): number | null {
  try {
    return (unlessGone(() => statSync(path))?.blocks ?? 0) * 512;
  } catch (error) {
    if (["EPERM", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
