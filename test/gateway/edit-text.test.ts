import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editText } from "../../src/gateway/edit-text.ts";
import { decodeText, encodeText } from "../../src/gateway/text-bytes.ts";

const edit = (text: string, anchor: string, replacement: string) => editText(text, [{ anchor, replacement }]);
const edited = (text: string, anchor: string, replacement: string): string => {
  const result = edit(text, anchor, replacement);
  return result.kind === "edited" ? result.text : result.kind;
};

/** The bytes of a file after an edit, through decoding and encoding. */
function editBytes(bytes: Uint8Array, anchor: string, replacement: string): Buffer {
  const decoded = decodeText(bytes);
  if (decoded.kind !== "text") throw new Error(`undecodable at ${decoded.offset}`);
  return Buffer.from(encodeText(edited(decoded.text, anchor, replacement), decoded.encoding));
}

describe("editText, cases from public trackers (ACI-110)", () => {
  it('inserts `log("$& ok")` literally', () => {
    expect(edited("before", "before", 'log("$& ok") $1 $$ \\n')).toBe('log("$& ok") $1 $$ \\n');
  });

  it("matches a line feed in the anchor with CRLF and keeps CRLF in untouched and new lines", () => {
    expect(edited("alpha\r\nbeta\r\ngamma", "alpha\nbeta", "one\ntwo\nthree")).toBe("one\r\ntwo\r\nthree\r\ngamma");
  });

  it("keeps a BOM that is neither shown nor needed in the anchor", () => {
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, ...Buffer.from("hello")]);

    expect(decodeText(bytes)).toMatchObject({ text: "hello", encoding: "UTF-8 with BOM" });
    expect(editBytes(bytes, "hello", "bye")).toEqual(Buffer.from([0xef, 0xbb, 0xbf, ...Buffer.from("bye")]));
  });

  it("tells the offset of the first byte that can't be decoded", () => {
    expect(decodeText(Buffer.from("caf\xe9\nrest", "latin1"))).toMatchObject({ kind: "undecodable", offset: 3 });
  });

  it("leaves tabs tabs in a Makefile whose other line is edited", () => {
    expect(edited("all:\n\tcc a.c\ntest:\n\t./a\n", "./a", "./b")).toBe("all:\n\tcc a.c\ntest:\n\t./b\n");
  });

  it("refuses an empty anchor", () => {
    expect(edit("text", "", "more")).toEqual({ kind: "anchor_empty", index: 0 });
  });

  it("names both places of look-alike blocks when the anchor lacks the indentation", () => {
    const text = "if (a) {\n  run();\n}\nif (b) {\n    run();\n}\n";

    expect(edit(text, "run();\n}", "stop();\n}")).toMatchObject({ kind: "anchor_ambiguous", count: 2, lines: [2, 5] });
  });

  it("adds no final newline where there was none", () => {
    expect(edited("line1\nline2", "line1", "first")).toBe("first\nline2");
    expect(edited("line1\nline2", "line2", "second")).toBe("line1\nsecond");
  });

  it("adds a line after a last line without newline", () => {
    expect(edited("hello\nworld", "world", "world\ntail")).toBe("hello\nworld\ntail");
  });

  it("writes nothing when the second of several edits fails", () => {
    const result = editText("one two", [
      { anchor: "one", replacement: "1" },
      { anchor: "three", replacement: "3" },
    ]);

    expect(result).toMatchObject({ kind: "anchor_not_found", miss: { index: 1 } });
  });

  it("takes no block with blank lines that is only similar", () => {
    const text = "function a() {\n\n  return 1;\n\n}\n";

    expect(edit(text, "function a() {\n  return 1;\n}", "gone")).toMatchObject({ kind: "anchor_not_found" });
  });
});

describe("editText", () => {
  it("counts occurrences with overlap (ACI-34)", () => {
    expect(edit("aaa", "aa", "b")).toMatchObject({ kind: "anchor_ambiguous", count: 2 });
  });

  it("finds all anchors in the text as it was before", () => {
    const result = editText("a b", [
      { anchor: "a", replacement: "b" },
      { anchor: " b", replacement: " a" },
    ]);

    expect(result).toMatchObject({ kind: "edited", text: "b a" });
  });

  it("refuses edits that share text, and takes edits that touch", () => {
    const overlapping = editText("abcd", [
      { anchor: "bcd", replacement: "x" },
      { anchor: "ab", replacement: "y" },
    ]);
    const touching = editText("abcd", [
      { anchor: "ab", replacement: "1" },
      { anchor: "cd", replacement: "2" },
    ]);

    expect(overlapping).toEqual({ kind: "edits_overlap", first: 0, second: 1 });
    expect(touching).toMatchObject({ kind: "edited", text: "12" });
  });

  it("matches a CRLF in the anchor with a CRLF alone", () => {
    expect(edit("a\nb", "a\r\nb", "c")).toMatchObject({ kind: "anchor_not_found" });
    expect(edited("a\r\nb", "a\r\nb", "c")).toBe("c");
  });

  it("keeps both endings of a mixed file where they are", () => {
    expect(edited("a\r\nb\nc\r\nd\r\n", "b\nc", "x\ny")).toBe("a\r\nx\ny\r\nd\r\n");
    expect(edited("a\r\nb\r\nc\nd\r\n", "b", "x\ny")).toBe("a\r\nx\r\ny\r\nc\nd\r\n");
  });

  it.each([
    ["  indented();", "indented();\n", "leading or trailing whitespace from lines 1"],
    ["12\tindented();", "indented();\n", "line numbers of the viewer"],
    ["last\n", "first\nlast", "no newline after that text"],
  ])("says in what the anchor %j differs", (anchor, text, hint) => {
    const result = edit(text, anchor, "x");

    expect(result.kind === "anchor_not_found" && result.miss.hint).toContain(hint);
  });

  it("names the nearest real lines as advice", () => {
    const result = edit("const total = count + 1;\nother\n", "const totals = count + 1;", "x");

    expect(result).toMatchObject({ miss: { nearest: [{ line: 1, text: "const total = count + 1;" }] } });
  });

  it("offers the first place's anchor, grown until it is unique", () => {
    const text = "a {\n  run();\n}\nb {\n  run();\n}\n";
    const result = edit(text, "  run();", "  stop();");

    expect(result).toMatchObject({ widened: { anchor: "a {\n  run();", replacement: "a {\n  stop();" } });
  });

  it("reports only lines that differ", () => {
    expect(edit("1\n2\n3\n4\n", "1\n2\n3", "1\nb\n3")).toMatchObject({ ranges: [{ lineFrom: 2, lineTo: 2 }] });
  });

  it("leaves every byte outside the edited region as it was, and the replacement literal (ACI-36)", () => {
    const ending = fc.constantFrom("\n", "\r\n");
    const piece = fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 12 }), ending), { maxLength: 5 });
    const encoding = fc.constantFrom("UTF-8", "UTF-8 with BOM", "UTF-16 LE", "UTF-16 BE");
    const joined = (lines: readonly (readonly [string, string])[]): string =>
      lines
        .flat()
        .join("")
        .replace(/\uFEFF|@/g, "");
    const replacement = fc
      .oneof(fc.string(), fc.constantFrom("$&", "$1$$", "\\n", "$`"))
      .map((text) => text.replace(/[\r\n@]/g, ""));
    fc.assert(
      fc.property(piece, piece, replacement, encoding, (before, after, text, named) => {
        const [head, tail] = [joined(before), joined(after)];
        const bytes = encodeText(`${head}@anchor@${tail}`, named);

        const result = editBytes(bytes, "@anchor@", text);

        expect(result).toEqual(Buffer.from(encodeText(head + text + tail, named)));
      }),
    );
  });
});
