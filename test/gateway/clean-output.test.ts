import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { cleanOutput } from "../../src/gateway/clean-output.ts";

const clean = (output: string | Uint8Array): string =>
  Buffer.from(cleanOutput({ output: Buffer.from(output), droppedBytes: 0, droppedAt: 0 })).toString();

describe("cleanOutput (ACI-12)", () => {
  it("removes colours, titles and links of a terminal", () => {
    expect(clean("\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b]8;;http://a\u001b\\link\u001b]8;;\u001b\\\n")).toBe(
      "red link\n",
    );
  });

  it("keeps the last state of a line that was redrawn", () => {
    expect(clean("50%\r100%\nwindows\r\n")).toBe("100%\nwindows\n");
  });

  it("replaces output that is no text by its size and hash", () => {
    const bytes = Buffer.from([0x89, 0x50, 0x00, 0x01]);

    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(clean(bytes)).toBe(`[output is not text: 4 bytes, sha256 ${sha256}]\n`);
  });

  it("shows undecodable bytes as escapes, never as U+FFFD", () => {
    expect(clean(Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]))).toBe("caf\\xe9\n");
  });

  it("counts the bytes that were not kept, at the place where they are missing", () => {
    const cleaned = cleanOutput({ output: Buffer.from("head\ntail\n"), droppedBytes: 99, droppedAt: 5 });

    expect(Buffer.from(cleaned).toString()).toBe("head\n\n[99 bytes of output were not kept here]\ntail\n");
  });

  it("returns plain text as it is, without a copy", () => {
    const output = Buffer.from("plain\ttext\n");

    expect(cleanOutput({ output, droppedBytes: 0, droppedAt: 0 })).toBe(output);
  });
});
