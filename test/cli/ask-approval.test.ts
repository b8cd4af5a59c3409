import { expect, it } from "vitest";
import { argumentLines } from "../../src/cli/ask-approval.ts";

it("a question shows all of the arguments: no text is cut, and a written backslash is no line break", () => {
  const long = `# ${"harmless ".repeat(400)}PAYLOAD`;
  const args = {
    path: "a.py",
    content: `${long}\nend`,
    edits: [{ anchor: "print('a\\nb')", replacement: "x\ny" }],
    at: null,
  };

  expect(argumentLines(args)).toEqual([
    "  path: a.py",
    "  content:",
    `  | ${long}`,
    "  | end",
    "  edits.0.anchor: print('a\\nb')",
    "  edits.0.replacement:",
    "  | x",
    "  | y",
    "  at: null",
  ]);
});
