import { describe, expect, it } from "vitest";
import { createFakeWorkspace, sha256 } from "../support/fake-workspace.ts";
import { createActor } from "./act.ts";

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
