import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { setImmediate as immediately } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { readBody } from "../../src/intake/read-body.ts";

const chunkBytes = 64 * 1024;
const limitBytes = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A body that comes in chunks of its own making, and how many bytes of it anybody still holds. */
function aBody(totalBytes: number, headers: Readonly<Record<string, string>> = {}) {
  const made: WeakRef<Buffer>[] = [];
  let sentBytes = 0;
  const stream = new Readable({
    highWaterMark: chunkBytes,
    read() {
      if (sentBytes >= totalBytes) return;
      // As from a socket: each chunk in a turn of its own.
      immediately(() => {
        const chunk = Buffer.alloc(chunkBytes, "x");
        made.push(new WeakRef(chunk));
        sentBytes += chunk.byteLength;
        this.push(chunk);
      });
    },
  });
  return {
    request: Object.assign(stream, { headers }) as unknown as IncomingMessage,
    sentBytes: () => sentBytes,
    heldBytes: async () => {
      await setImmediate(); // what this turn has looked at is held to its end
      collectGarbage();
      return made.filter((chunk) => chunk.deref() !== undefined).length * chunkBytes;
    },
  };
}

describe("memory stays flat (AT-5, SEC-111)", () => {
  it("with 30 MB that are not announced: no more is taken than the cap and a chunk, and nothing is kept", async () => {
    const body = aBody(30_000_000);

    const read = await readBody(body.request, limitBytes);
    const takenBytes = body.sentBytes();

    expect(read).toEqual({ kind: "too_large" });
    expect(takenBytes).toBeLessThanOrEqual(limitBytes + 3 * chunkBytes); // one too many, and two in the stream's own hands
    expect(await body.heldBytes()).toBeLessThanOrEqual(3 * chunkBytes);
  });

  it("with 30 MB that are announced: none of it is taken", async () => {
    const body = aBody(30_000_000, { "content-length": "30000000" });

    expect(await readBody(body.request, limitBytes)).toEqual({ kind: "too_large" });
    expect(body.sentBytes()).toBe(0);
  });

  it("with a body that drips and is cut off: what had come is let go", async () => {
    const body = aBody(10 * chunkBytes);
    const reading = readBody(body.request, limitBytes);
    await setImmediate();
    body.request.destroy();

    expect(await reading).toEqual({ kind: "broken_off" });
    expect(await body.heldBytes()).toBeLessThanOrEqual(chunkBytes);
  });

  it("and a body within the cap comes whole", async () => {
    const parts = ["{", "x".repeat(limitBytes - 2), "}"].map((text) => Buffer.from(text));
    const request = Object.assign(Readable.from(parts), { headers: {} }) as unknown as IncomingMessage;

    const read = await readBody(request, limitBytes);

    expect(read.kind === "bytes" && read.bytes.byteLength).toBe(limitBytes);
  });
});
