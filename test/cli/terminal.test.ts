import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patchText } from "../../src/cli/patch-text.ts";
import { duration, plain, table } from "../../src/cli/terminal.ts";

describe("text of strangers on a terminal", () => {
  it("shows control characters as escapes: it can't move the cursor, set a title or hide", () => {
    expect(plain("a\x1b[2Kb\rc\x07\x9bd\u202ee\u200bf")).toBe("a\\u{1B}[2Kb\\u{D}c\\u{7}\\u{9B}d\\u{202E}e\\u{200B}f");
  });

  it("keeps lines, tabs and every letter", () => {
    expect(plain("one\n\ttwo é 漢 🙂\n")).toBe("one\n\ttwo é 漢 🙂\n");
  });

  it("never holds a character that a terminal acts on", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(plain(text)).not.toMatch(/[^\n\t\P{Cc}]|\p{Cf}/u);
      }),
    );
  });
});

describe("a patch", () => {
  const patch = "+\x1b]0;title\x07a\u202eb\n";

  it("can't act on the terminal that it is shown on", () => {
    expect(patchText({ isOutTerminal: true }, patch)).toBe("+\\u{1B}]0;title\\u{7}a\\u{202E}b\n");
  });

  it("goes into a file or a pipe byte for byte", () => {
    expect(patchText({ isOutTerminal: false }, patch)).toBe(patch);
  });
});

describe("a table", () => {
  it("aligns its columns and lets the last one run free", () => {
    expect(
      table([
        ["A", "LONG", "C"],
        ["abc", "d", "e f g"],
      ]),
    ).toBe("A    LONG  C\nabc  d     e f g\n");
  });

  it("keeps a cell on its line, whatever stands in it", () => {
    expect(table([["a\nconclusion  success", "b"]])).toBe("a\\nconclusion  success  b\n");
  });

  it("is nothing without rows", () => {
    expect(table([])).toBe("");
  });
});

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1000, "1.0 s"],
  [3449, "3.4 s"],
  [59_999, "59.9 s"],
  [60_000, "1 min 0 s"],
  [119_999, "1 min 59 s"],
  [125_000, "2 min 5 s"],
])("%i ms is told as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});
