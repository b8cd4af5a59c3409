import { describe, expect, it } from "vitest";
import { untrusted } from "../../src/agent/index.ts";
import { showHidden } from "../../src/domain/index.ts";
import { bodyBytes } from "../../src/gateway/result-text.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { sourceFiles } from "../support/source-files.ts";
import { createActor } from "./act.ts";

const source = 'if (level != "user\u202e \u2066// admin\u2069 \u2066") {\n  go();\n}\n';
const bodyOf = (text: string): string => text.split("\n").slice(1).join("\n");

describe("hidden code points of a file (SEC-16)", () => {
  it("are shown as escapes, counted, and told in the header", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.c": source }));

    const read = await actor.call("read_file", { path: "a.c" });

    expect(read.text).toContain('1\tif (level != "user\\u{202E} \\u{2066}// admin\\u{2069} \\u{2066}") {');
    expect(read.text.split("\n")[0]).toContain("4 hidden code points shown as \\u{NNNN}");
    expect(read.record).toMatchObject({ hidden_count: 4 });
    expect(showHidden(read.text).shownCount).toBe(0);
  });

  it("keep the body within its caps, however long their escapes are (ACI-5)", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.txt": `${"\u200b".repeat(400)}\n`.repeat(100) }));

    const read = await actor.call("read_file", { path: "a.txt" });

    expect(Buffer.byteLength(bodyOf(read.text))).toBeLessThanOrEqual(12_288);
    expect(bodyBytes([bodyOf(read.text)])).toBe(Buffer.byteLength(bodyOf(read.text)));
    expect(read.record["omitted_lines"]).toBeGreaterThan(0);
  });

  it("are matched by an edit that writes them, and stay where it doesn't touch them", async () => {
    const workspace = createFakeWorkspace({ "a.c": source });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.c" });

    const edits = [{ anchor: "user\u202e \u2066//", replacement: "user //" }];
    const edited = await actor.call("edit_file", { path: "a.c", edits });
    const read = await actor.call("read_file", { path: "a.c" });

    expect(edited.status).toBe("ok");
    expect(read.text).toContain('"user // admin\\u{2069} \\u{2066}"');
  });

  it("are not found by their escapes; the refusal has the call that finds them", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.c": source }));
    await actor.call("read_file", { path: "a.c" });

    const edits = [{ anchor: "user\\u{202E} ", replacement: "user\\u{202E}" }];
    const refused = await actor.call("edit_file", { path: "a.c", edits });
    const [, example = ""] = /example: edit_file (.*)/.exec(refused.text) ?? [];
    const mended = await actor.call("edit_file", JSON.parse(example));

    expect(refused).toMatchObject({ status: "refused", refusal: { code: "anchor_not_found" } });
    expect(refused.text).toContain("it has escapes where the file has hidden code points");
    expect(example).toContain('"anchor":"user\\u202e "');
    expect(mended.status).toBe("ok");
  });

  it("leave an anchor alone whose escape stands in the file as it is", async () => {
    const workspace = createFakeWorkspace({ "a.js": 'const mark = "\\u{202E}";\n' });
    await using actor = await createActor(workspace);
    await actor.call("read_file", { path: "a.js" });

    const edits = [{ anchor: '"\\u{202E}"', replacement: '"x"' }];

    expect((await actor.call("edit_file", { path: "a.js", edits })).status).toBe("ok");
  });

  it("of a name are shown where the name is, and written in a ready call by JSON's escapes (AT-13)", async () => {
    await using actor = await createActor(createFakeWorkspace({ "doc\u200b.md": "x\n" }));

    const missing = await actor.call("read_file", { path: "doc.md" });
    const read = await actor.call("read_file", { path: "doc\u200b.md" });

    expect(missing.text).toContain("doc\\u{200B}.md");
    expect(missing.text).toContain('{"path":"doc\\u200b.md"');
    expect(read).toMatchObject({ status: "ok", record: { hidden_count: 1 } });
  });
});

it("1,000 real source files reach the model as they are, unless they hold hidden code points (SEC-16, SEC-101)", async () => {
  const files = sourceFiles(1_000);
  await using actor = await createActor(
    createFakeWorkspace(Object.fromEntries(files.map(({ text }, at) => [`f${at}`, text]))),
  );

  for (const [at, { path, text }] of files.entries()) {
    const read = await actor.call("read_file", { path: `f${at}`, line_from: 1, line_count: 400 });
    const shown = Number(read.record["shown_lines"]);
    if (read.record["clipped_lines"] !== 0) continue;
    const lines = text
      .replace(/^\ufeff/, "")
      .split(/\r?\n/)
      .slice(0, shown);
    const expected = lines.map((line, index) => `${index + 1}\t${line}`).join("\n");

    expect(bodyOf(untrusted(read.text, { kind: "tool_result" }).text), path).toBe(showHidden(expected).text);
    expect(read.record["hidden_count"], path).toBe(showHidden(expected).shownCount);
  }
  expect(files).toHaveLength(1_000);
});
