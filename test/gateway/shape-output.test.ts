import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createErrorClassifier } from "../../src/gateway/error-lines.ts";
import { bodyBytes } from "../../src/gateway/result-text.ts";
import { shapeOutput, surveyOutput } from "../../src/gateway/shape-output.ts";

const isError = createErrorClassifier("make test");
const shape = (lines: readonly string[]) =>
  shapeOutput(surveyOutput(Buffer.from(`${lines.join("\n")}\n`), isError), "out:7");
const quiet = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

describe("shapeOutput", () => {
  it("shows the only error of 4,000 lines first, in 100 lines (ACI-8)", () => {
    const lines = quiet(4_000).with(2_730, "error: broken at 2731");

    const shaped = shape(lines);

    expect(shaped.body).toHaveLength(100);
    expect(shaped.body[0]).toBe("error: broken at 2731");
    expect(shaped.body[1]).toBe("line 1");
    expect(shaped.body.at(-1)).toBe("line 4000");
    expect(shaped).toMatchObject({ omittedLines: 3_901, errorsCount: 1, errorsShownCount: 1, clippedLines: 0 });
    expect(shaped.body[50]).toContain("3901 lines omitted");
    expect(shaped.body[50]).toContain("errors: 1 of 1 shown (first at lines 2731)");
  });

  it("shows 76 lines of 4,000 error lines (ACI-8)", () => {
    const shaped = shape(Array.from({ length: 4_000 }, (_, index) => `error ${index + 1}`));

    expect(shaped.body).toHaveLength(76);
    expect(shaped).toMatchObject({ omittedLines: 3_925, errorsCount: 4_000, errorsShownCount: 50 });
    expect(shaped.body[50]).toContain("first at lines 1, 2, 3, 4, 5");
    expect(shaped.body.slice(51)).toEqual(Array.from({ length: 25 }, (_, index) => `error ${3_976 + index}`));
  });

  it("costs 5,000 lines instead of 200,000 when it arrives at step 10 of 60 (ACI-8)", () => {
    const turnsLeft = 60 - 10;

    const shaped = shape(quiet(4_000).with(2_730, "error"));

    expect(turnsLeft * shaped.body.length).toBe(5_000);
    expect(turnsLeft * shaped.totalLines).toBe(200_000);
  });

  it("passes 100 lines whole and in order, errors included (ACI-6)", () => {
    const lines = quiet(100).with(70, "error: in its place");

    expect(shape(lines)).toMatchObject({ body: lines, omittedLines: 0, errorsShownCount: 1, nextLine: null });
  });

  it("names the calls for the next slice and for a search (ACI-7)", () => {
    const shaped = shape(quiet(300));
    const note = shaped.body.find((line) => line.includes("omitted")) ?? "";

    expect(note).toContain('read_file {"path":"out:7","line_from":50,"line_count":100}');
    expect(note).toContain('search_text {"pattern":"error|fail","path":"out:7"');
    expect(shaped.nextLine).toBe(50);
  });

  it("clips long lines before it leaves lines out, and says how much was cut (ACI-10)", () => {
    const shaped = shape(["a".repeat(20_000), "short", "b".repeat(501)]);

    expect(shaped).toMatchObject({ shownLines: 3, omittedLines: 0, clippedLines: 2 });
    expect(shaped.body[0]).toBe(`${"a".repeat(500)}… [19500 characters cut]`);
    expect(shaped.body[1]).toBe("short");
    expect(shaped.body[2]).toBe(`${"b".repeat(500)}… [1 characters cut]`);
    expect(shaped.body[3]).toContain("0 lines omitted; 2 long lines clipped");
  });

  it("stays within the caps, keeps the note and counts every line once, whatever the output", () => {
    const line = fc.oneof(
      fc.string({ maxLength: 40 }).map((text) => text.replace(/\n/g, " ")),
      fc.integer({ min: 1, max: 3_000 }).map((length) => "ä".repeat(length)),
      fc.constantFrom("error: x", "", "ok 12 - fine"),
    );
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 400 }), (lines) => {
        const shaped = shape(lines);

        expect(shaped.body.length).toBeLessThanOrEqual(100);
        expect(bodyBytes(shaped.body)).toBeLessThanOrEqual(12_288);
        expect(shaped.shownLines + shaped.omittedLines).toBe(lines.length);
        const isWhole = shaped.omittedLines === 0 && shaped.clippedLines === 0;
        const notes = shaped.body.filter((shown) => shown.includes("lines omitted; ")).length;
        expect(notes).toBe(isWhole ? 0 : 1);
        expect(shaped.body.length - notes).toBe(shaped.shownLines);
      }),
      { numRuns: 60 },
    );
  });
});
