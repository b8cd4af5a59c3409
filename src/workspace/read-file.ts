import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { placeIn } from "./tree-folders.ts";

/** `O_NONBLOCK`: a FIFO in the file's place must not hang us. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export type RegularFile = {
  readonly facts: BigIntStats;
  /** At most `maxBytes` + 1: one byte more says that there is more. */
  readonly bytes: Buffer;
};

/** Reads a regular file in a folder; null for anything else. A hole of a terabyte is not read: `facts` alone tells (SEC-87). */
export function readRegularFile(folder: number, name: string, maxBytes: number): RegularFile | null {
  const descriptor = openSync(placeIn(folder, name), readFlags);
  try {
    const facts = fstatSync(descriptor, { bigint: true });
    if (!facts.isFile()) return null;
    if (facts.size > BigInt(maxBytes)) return { facts, bytes: Buffer.alloc(0) };
    const bytes = Buffer.allocUnsafeSlow(Number(facts.size) + 1);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, length);
      if (count === 0) break;
      length += count;
    }
    return { facts, bytes: bytes.subarray(0, length) };
  } finally {
    closeSync(descriptor);
  }
}
