import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clipLine, fitBody, resultText, standardCaps } from "../../src/gateway/result-text.ts";

const statuses = ["ok", "empty", "refused", "failed", "unknown"] as const;

describe("resultText", () => {
  it("never renders two different statuses to the same text (ACI-2)", () => {
    const words = fc.tuple(fc.string(), fc.array(fc.string(), { maxLength: 3 }));
    const pair = fc.shuffledSubarray([...statuses], { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(pair, words, words, ([one = "ok", other = "empty"], first, second) => {
        expect(resultText(one, ...first)).not.toBe(resultText(other, ...second));
        expect(resultText(one, ...first)).not.toBe(resultText(other, ...first));
      }),
    );
  });

  it("has one header line, whatever the essentials hold", () => {
    expect(resultText("ok", "a\r\nb\nc", ["body"])).toBe("ok: a b c\nbody");
  });

  it("never splits a pair of surrogates when it clips", () => {
    expect(clipLine(`${"a".repeat(9)}😀tail`, 10).text).toBe(`${"a".repeat(9)}… [6 characters cut]`);
  });

  it("leaves room for a note", () => {
    const fitted = fitBody(
      Array.from({ length: 200 }, () => "x"),
      standardCaps,
      ["note"],
    );

    expect(fitted).toMatchObject({ shownLines: 99, omittedLines: 101 });
  });
});
