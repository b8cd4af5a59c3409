import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines } from "../../src/gateway/diff-lines.ts";

/** What a person would do with the diff: take the removed lines out and the added ones in. */
function apply(before: string, diff: readonly string[]): string {
  const rest = before.split("\n");
  let line = 1;
  const take = (count: number): readonly string[] => {
    line += count;
    return rest.splice(0, count);
  };
  const out = diff.flatMap((step) => {
    const start = /^@@ -(\d+),\d+ /.exec(step)?.[1];
    if (start !== undefined) return take(Number(start) - line);
    if (step.startsWith("+")) return [step.slice(1)];
    const taken = take(1);
    expect(taken).toEqual([step.slice(1)]);
    return step.startsWith("-") ? [] : taken;
  });
  return [...out, ...rest].join("\n");
}

describe("diffLines", () => {
  it("shows a change with three lines around it", () => {
    const before = Array.from({ length: 12 }, (_, index) => `${index + 1}`);

    expect(diffLines(before.join("\n"), before.with(5, "six").join("\n"))).toEqual([
      "@@ -3,7 +3,7 @@",
      " 3",
      " 4",
      " 5",
      "-6",
      "+six",
      " 7",
      " 8",
      " 9",
    ]);
  });

  it("is empty for equal texts", () => {
    expect(diffLines("a\nb", "a\nb")).toEqual([]);
  });

  it("leads from the one text to the other", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 40 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(apply(before, diffLines(before, after))).toBe(after);
      }),
    );
  });

  it("stays right where there is too much to compare", () => {
    const before = Array.from({ length: 900 }, (_, index) => `old ${index}`).join("\n");
    const after = Array.from({ length: 900 }, (_, index) => `new ${index}`).join("\n");

    expect(apply(before, diffLines(before, after))).toBe(after);
  });
});
