import { describe, expect, it } from "vitest";
import { diffLines } from "../../src/gateway/diff-lines.ts";
import { editText } from "../../src/gateway/edit-text.ts";
import { anExecResult, createFakeWorkspace, type FakeWorkspace, sha256 } from "../support/fake-workspace.ts";
import { createActor } from "./act.ts";

const text = (workspace: FakeWorkspace, file: string): string =>
  Buffer.from(workspace.files.get(file) ?? "").toString();

/** 24 functions of five lines; only each function's first line tells it apart (ACI-49). */
const functions = Array.from({ length: 24 }, (_, index) =>
  [
    `export function area${index}(value) {`,
    "  const doubled = value * 2;",
    "  const raised = value + 1;",
    "  return doubled + raised + value;",
    "}",
  ].join("\n"),
);
const source = `${functions.join("\n")}\n`;
const path = "src/areas.js";

/** The eleventh function with its parameter renamed: four lines change. */
const old = functions[10]?.split("\n").slice(0, 4).join("\n") ?? "";
const renamed = old.replaceAll("value", "width");

describe("what the model writes for one renamed parameter (ACI-49)", () => {
  it("is 120 lines as a whole, 17 as a diff, 8 as anchor and replacement, 1 as a rename", () => {
    const renamedSource = source.replace(old, renamed);
    const lineCount = (lines: string): number => lines.split("\n").length;
    const diff = ["--- a", "+++ b", ...diffLines(source, renamedSource)];
    const smallest = [1, 2, 3, 4, 5].find((count) => {
      const anchor = source
        .split("\n")
        .slice(50, 50 + count)
        .join("\n");
      return editText(source, [{ anchor, replacement: "x" }]).kind === "edited" && anchor.includes(old);
    });

    expect(lineCount(source.trimEnd())).toBe(120);
    expect(diff).toHaveLength(17);
    expect(smallest).toBe(4);
    expect(lineCount(old) + lineCount(renamed)).toBe(8);
    expect(lineCount(JSON.stringify({ rename: "value", to: "width" }))).toBe(1);
  });
});

describe("edit_file, two runs on one file (ACI-50)", () => {
  it("names the places, tells a stray space, sees the other's change, edits, and knows its own repetition", async () => {
    const workspace = createFakeWorkspace({ [path]: source });
    await using a = await createActor(workspace);
    await using b = await createActor(workspace);
    const edit = (anchor: string, replacement: string) => ({ path, edits: [{ anchor, replacement }] });
    await a.call("read_file", { path });
    await b.call("read_file", { path });

    const ambiguous = await a.call("edit_file", edit("  const doubled = value * 2;", "  const doubled = width * 2;"));
    const stray = await a.call("edit_file", edit(` ${old}`, renamed));
    const other = await b.call("edit_file", edit("function area23(value)", "function area23(size)"));
    const changed = await a.call("edit_file", edit(old, renamed));
    await a.call("read_file", { path });
    const applied = await a.call("edit_file", edit(old, renamed));
    const repeated = await a.call("edit_file", edit(old, renamed));

    expect(ambiguous.refusal).toMatchObject({ code: "anchor_ambiguous" });
    expect(ambiguous.text).toContain("occurs 24 times");
    expect(ambiguous.text).toContain("at lines 2, 7, 12, 17, 22");
    expect(stray.refusal?.code).toBe("anchor_not_found");
    expect(other.record).toMatchObject({ status: "ok", changed_lines: "116" });
    expect(changed.refusal?.code).toBe("changed_since_read");
    expect(changed.text).toContain("+export function area23(size) {");
    expect(applied.record).toMatchObject({ status: "ok", changed_lines: "51-54", already_applied: false });
    expect(repeated.record).toMatchObject({ status: "ok", already_applied: true, changed_lines: "51-54" });
    expect(applied.record).toMatchObject({ sha256: sha256(workspace.files.get(path) ?? "") });
  });
});

describe("edit_file", () => {
  const one = (anchor: string, replacement: string, target = "a.txt") => ({
    path: target,
    edits: [{ anchor, replacement }],
  });

  it("refuses a file that was only found, and takes it once it was read (ACI-39)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" });
    await using actor = await createActor(workspace);

    const unread = await actor.call("edit_file", one("one", "two"));
    await actor.call("read_file", { path: "a.txt", line_from: 1, line_count: 1 });
    const read = await actor.call("edit_file", one("one", "two"));

    expect(unread.refusal?.code).toBe("not_read");
    expect(unread.status).toBe("refused");
    expect(read.status).toBe("ok");
  });

  it("needs no new reading between edits of its own", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\ntwo\n" });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });

    await actor.call("edit_file", one("one", "1"));
    const second = await actor.call("edit_file", one("two", "2"));

    expect(second.status).toBe("ok");
    expect(text(workspace, "a.txt")).toBe("1\n2\n");
  });

  it("costs one refusal when a formatter changed the file, with the diff and the fresh region (ACI-41)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\ntwo\n" }, (_request, files) => {
      files.set("a.txt", Buffer.from("ONE\ntwo\n"));
      return anExecResult("formatted\n");
    });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });
    await actor.call("run_command", { command: "format" });

    const refused = await actor.call("edit_file", one("two", "2"));
    const again = await actor.call("edit_file", one("two", "2"));

    expect(refused.refusal?.code).toBe("changed_since_read");
    expect(refused.text).toContain("by run_command in turn 2 (action action-2)");
    expect(refused.text).toContain("-one\n+ONE");
    expect(refused.text).toContain("1\tONE");
    expect(again.status).toBe("ok");
  });

  it("says deleted, with the turn, and not that the anchor is missing", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" }, (_request, files) => {
      files.delete("a.txt");
      return anExecResult();
    });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });
    await actor.call("run_command", { command: "rm a.txt" });

    const refused = await actor.call("edit_file", one("one", "two"));

    expect(refused.refusal?.code).toBe("deleted_since_read");
    expect(refused.text).toContain("in turn 2");
  });

  it("knows a repetition that would land twice, since the replacement holds the anchor (ACI-47)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "start\nend\n" });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });
    const insertion = one("start", "start\nmiddle");

    const first = await actor.call("edit_file", insertion);
    const second = await actor.call("edit_file", insertion);

    expect(first.record).toMatchObject({ already_applied: false });
    expect(second.record).toMatchObject({ already_applied: true, status: "ok" });
    expect(second.text).toContain("turn 2");
    expect(text(workspace, "a.txt")).toBe("start\nmiddle\nend\n");
  });

  it("says already present when the file has moved on since (ACI-47)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "start\nend\n" });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });
    const insertion = one("start", "start\nmiddle");
    await actor.call("edit_file", insertion);
    await actor.call("edit_file", one("end", "END"));

    const third = await actor.call("edit_file", insertion);

    expect(third.refusal?.code).toBe("already_present");
    expect(third.text).toContain("turn 2");
    expect(text(workspace, "a.txt")).toBe("start\nmiddle\nEND\n");
  });

  it("refuses a file that is not valid in its encoding, with the offset", async () => {
    const workspace = createFakeWorkspace({ "a.txt": Buffer.from("caf\xe9\nother\n", "latin1") });
    await using actor = await createActor(workspace);
    const read = await actor.call("read_file", { path: "a.txt" });

    const refused = await actor.call("edit_file", one("other", "more"));

    expect(read.text).toContain("caf\\xe9");
    expect(read.record).toMatchObject({ undecodable_count: 1 });
    expect(refused.refusal?.code).toBe("not_text");
    expect(refused.text).toContain("byte 3 can't be decoded");
  });

  it("knows both hashes before it writes, for the intent (ACI-45)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });

    const prepared = await actor.prepare("edit_file", one("one", "two"));

    expect(prepared).toMatchObject({
      kind: "ready",
      intent: { pre_hash: sha256("one\n"), post_hash: sha256("two\n") },
    });
    expect(text(workspace, "a.txt")).toBe("one\n");
  });

  it("tells when two edits meet: the one that comes second writes nothing", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\ntwo\n" });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.txt" });
    const first = await actor.prepare("edit_file", one("one", "1"));
    const second = await actor.prepare("edit_file", one("two", "2"));

    const landed = await actor.finish("edit_file", one("one", "1"), first);
    const late = await actor.finish("edit_file", one("two", "2"), second);

    expect(landed.status).toBe("ok");
    expect(late).toMatchObject({ status: "failed", refusal: { code: "changed_since_read" } });
    expect(text(workspace, "a.txt")).toBe("1\ntwo\n");
  });

  it("refuses a path that leaves the repository, and names close names for a missing one", async () => {
    await using actor = await createActor(createFakeWorkspace({ "alpha.txt": "one\n" }));

    const outside = await actor.call("edit_file", one("a", "b", "../etc/passwd"));
    const missing = await actor.call("edit_file", one("a", "b", "alpah.txt"));

    expect(outside.refusal).toMatchObject({
      code: "outside_workspace",
      example: { arguments: { path: "etc/passwd" } },
    });
    expect(missing.refusal).toMatchObject({ code: "not_found", example: { arguments: { path: "alpha.txt" } } });
  });
});

describe("create_file and delete_file", () => {
  it("creates exclusively, empty files too, and hands an existing one to edit_file", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" });
    await using actor = await createActor(workspace);

    const empty = await actor.call("create_file", { path: "deep/er/empty.txt", content: "" });
    const existing = await actor.call("create_file", { path: "a.txt", content: "x" });

    expect(empty).toMatchObject({ status: "ok", record: { file_bytes: 0 } });
    expect(workspace.files.get("deep/er/empty.txt")).toHaveLength(0);
    expect(existing.refusal).toMatchObject({ code: "already_exists", example: { tool: "read_file" } });
  });

  it("refuses content over 65,536 bytes with the advice to begin with a part", async () => {
    await using actor = await createActor(createFakeWorkspace({}));

    const refused = await actor.call("create_file", { path: "big.txt", content: "ä".repeat(40_000) });

    expect(refused.refusal?.code).toBe("too_large");
    expect(refused.refusal?.remedy).toContain("edit_file");
  });

  it("edits what it has created without reading it", async () => {
    const workspace = createFakeWorkspace({});
    await using actor = await createActor(workspace);
    await actor.call("create_file", { path: "new.txt", content: "one\n" });

    const edited = await actor.call("edit_file", { path: "new.txt", edits: [{ anchor: "one", replacement: "two" }] });

    expect(edited.status).toBe("ok");
  });

  it("deletes only what was read and has not changed", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" });
    await using actor = await createActor(workspace);

    const unread = await actor.call("delete_file", { path: "a.txt" });
    await actor.call("read_file", { path: "a.txt" });
    const deleted = await actor.call("delete_file", { path: "a.txt" });

    expect(unread.refusal?.code).toBe("not_read");
    expect(deleted).toMatchObject({ status: "ok", record: { file_bytes: 4 } });
    expect(workspace.files.has("a.txt")).toBe(false);
  });
});
