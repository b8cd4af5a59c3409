import { describe, expect, it } from "vitest";
import { bodyBytes } from "../../src/gateway/result-text.ts";
import { createFakeWorkspace, sha256 } from "../support/fake-workspace.ts";
import { createActor } from "./act.ts";

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");
const bodyOf = (text: string): readonly string[] => text.split("\n").slice(1);

describe("read_file (ACI-20)", () => {
  it("shows the first 100 lines, numbered, and says what is below", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.txt": lines(240) }));

    const read = await actor.call("read_file", { path: "a.txt" });

    expect(bodyOf(read.text)).toHaveLength(100);
    expect(bodyOf(read.text)[0]).toBe("1\tline 1");
    expect(read.text.split("\n")[0]).toContain("lines 1-100 of 240 (0 above, 140 below)");
    expect(read.record).toMatchObject({
      total_lines: 240,
      omitted_lines: 140,
      sha256: sha256(lines(240)),
      next: { tool: "read_file", arguments: { path: "a.txt", line_from: 101, line_count: null } },
    });
  });

  it("shows up to 400 lines and 32,768 bytes only where line_count asks for them (ACI-5)", async () => {
    const wide = Array.from({ length: 400 }, () => "x".repeat(110)).join("\n");
    await using actor = await createActor(createFakeWorkspace({ "a.txt": lines(500), "wide.txt": wide }));

    const asked = await actor.call("read_file", { path: "a.txt", line_from: 51, line_count: 400 });
    const byDefault = await actor.call("read_file", { path: "wide.txt" });
    const most = await actor.call("read_file", { path: "wide.txt", line_count: 400 });

    expect(bodyOf(asked.text)).toHaveLength(400);
    expect(bodyBytes(bodyOf(byDefault.text))).toBeLessThanOrEqual(12_288);
    expect(bodyBytes(bodyOf(most.text))).toBeLessThanOrEqual(32_768);
    expect(most.record).toMatchObject({ shown_lines: 285, next: { arguments: { line_from: 286, line_count: 400 } } });
  });

  it("clips the line of a minified file and says so", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.min.js": "x".repeat(649_467) }));

    const read = await actor.call("read_file", { path: "a.min.js" });

    expect(read.record).toMatchObject({ clipped_lines: 1, omitted_lines: 0, file_bytes: 649_467 });
    expect(read.text).toContain("characters cut]");
  });

  it("tells zero bytes as empty, and a missing final newline", async () => {
    await using actor = await createActor(createFakeWorkspace({ empty: "", bare: "a\r\nb" }));

    const empty = await actor.call("read_file", { path: "empty" });
    const bare = await actor.call("read_file", { path: "bare" });

    expect(empty.status).toBe("empty");
    expect(bare.text).toContain("no newline at the end of the file");
    expect(bare.record).toMatchObject({ final_newline: false, line_ending: "CRLF", total_lines: 2 });
  });

  it("describes a picture by its content, without showing it", async () => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00]);
    await using actor = await createActor(createFakeWorkspace({ "a.png": bytes }));

    const read = await actor.call("read_file", { path: "a.png" });

    expect(read).toMatchObject({
      status: "ok",
      record: { media_type: "image/png", file_bytes: 9, sha256: sha256(bytes) },
    });
    expect(bodyOf(read.text)).toEqual([]);
  });

  it("doesn't decode a file over 5 MiB, and names what to do instead (ACI-19)", async () => {
    await using actor = await createActor(createFakeWorkspace({ big: Buffer.alloc(5 * 1024 * 1024 + 1, "a") }));

    const read = await actor.call("read_file", { path: "big" });

    expect(read).toMatchObject({ status: "failed", refusal: { code: "too_large", example: { tool: "search_text" } } });
  });

  it("hides a BOM and names the encoding", async () => {
    const utf16 = Buffer.from("\ufeffhello\n", "utf16le");
    await using actor = await createActor(createFakeWorkspace({ bom: "\ufeffhello\n", wide: utf16 }));

    const bom = await actor.call("read_file", { path: "bom" });
    const wide = await actor.call("read_file", { path: "wide" });

    expect(bodyOf(bom.text)).toEqual(["1\thello"]);
    expect(bodyOf(wide.text)).toEqual(["1\thello"]);
    expect(wide.record).toMatchObject({ encoding: "UTF-16 LE" });
  });

  it("fails for a missing path with close names, for a line beyond the end with the last window", async () => {
    await using actor = await createActor(createFakeWorkspace({ "alpha.txt": lines(3) }));

    const missing = await actor.call("read_file", { path: "alpah.txt" });
    const beyond = await actor.call("read_file", { path: "alpha.txt", line_from: 9 });

    expect(missing).toMatchObject({
      status: "failed",
      refusal: { code: "not_found", example: { arguments: { path: "alpha.txt" } } },
    });
    expect(beyond).toMatchObject({
      status: "failed",
      refusal: { code: "line_out_of_range", example: { arguments: { line_from: 1 } } },
    });
  });

  it("refuses a folder with a find_files call", async () => {
    await using actor = await createActor(createFakeWorkspace({ "src/a.ts": "x" }));

    const read = await actor.call("read_file", { path: "src" });

    expect(read).toMatchObject({
      status: "refused",
      refusal: { code: "invalid_arguments", example: { tool: "find_files", arguments: { path: "src" } } },
    });
  });

  it("takes an odd name as a name", async () => {
    const path = `it's "$(x)"`;
    await using actor = await createActor(createFakeWorkspace({ [path]: "x\n" }));

    expect((await actor.call("read_file", { path })).status).toBe("ok");
  });

  it("reads a kept page by its name, and a file so named as ./out:1 (ACI-11)", async () => {
    await using actor = await createActor(createFakeWorkspace({ "out:1": "a file\n" }));
    const page = await actor.pages.keep(Buffer.from(lines(300)));

    const read = await actor.call("read_file", { path: page, line_from: 51 });
    const file = await actor.call("read_file", { path: "./out:1" });
    const gone = await actor.call("read_file", { path: "out:99" });

    expect(bodyOf(read.text)[0]).toBe("51\tline 51");
    expect(bodyOf(file.text)).toEqual(["1\ta file"]);
    expect(gone).toMatchObject({ status: "failed", refusal: { code: "invalid_arguments" } });
  });
});
