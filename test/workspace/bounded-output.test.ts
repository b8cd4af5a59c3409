import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedOutput } from "../../src/workspace/bounded-output.ts";

const mebibyte = 1024 * 1024;
function pattern(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) bytes[at] = at * 7 + (at >> 8);
  return bytes;
}

function through(bytes: Buffer, sizes: readonly number[]) {
  const output = new BoundedOutput();
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    output.add(bytes.subarray(at, at + size));
    at += size;
  }
  return output.finish();
}

describe("BoundedOutput", () => {
  it("keeps all of what is within its bounds", () => {
    const bytes = pattern(16 * mebibyte);

    const kept = through(bytes, [65_536, 100_001]);

    expect(Buffer.from(kept.output).equals(bytes)).toBe(true);
    expect(kept.droppedBytes).toBe(0);
  });

  it("keeps the first 4 MiB and the last 12 MiB and counts the rest", () => {
    const bytes = pattern(40 * mebibyte + 12_345);

    for (const sizes of [[65_536], [bytes.length], [13 * mebibyte + 1], [1_000_003, 77]]) {
      const kept = through(bytes, sizes);

      expect(kept.droppedAt).toBe(4 * mebibyte);
      expect(kept.droppedBytes).toBe(24 * mebibyte + 12_345);
      expect(
        Buffer.from(kept.output)
          .subarray(0, kept.droppedAt)
          .equals(bytes.subarray(0, 4 * mebibyte)),
      ).toBe(true);
      expect(
        Buffer.from(kept.output)
          .subarray(kept.droppedAt)
          .equals(bytes.subarray(-12 * mebibyte)),
      ).toBe(true);
    }
  });

  it("gives back what came, whatever the chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (chunks) => {
        const output = new BoundedOutput();
        for (const chunk of chunks) output.add(chunk);

        expect(Buffer.from(output.finish().output).equals(Buffer.concat(chunks))).toBe(true);
      }),
    );
  });
});
