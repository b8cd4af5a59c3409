import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, cutRedacted, redactTexts, Secret } from "../../src/domain/index.ts";

const secret = ["planted", "canary", "value"].join("-");
const { redact } = createRedactor([new Secret(secret)]);

describe("a text that is cut (SEC-100)", () => {
  it("holds no part of a secret, wherever the cut falls", () => {
    const text = `${"x".repeat(20)}${secret}${"y".repeat(20)}`;

    for (let most = 1; most < text.length; most += 1) expect(cutRedacted(redact(text), most)).not.toContain("plan");
  });

  it("is redacted before: the other order does not compile", () => {
    // @ts-expect-error a string is no redacted text
    const cut = (text: string): string => cutRedacted(text, 10);

    expect(cut("short")).toBe("short");
  });

  it("has at most so many characters, the mark among them, and no half of one", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 6, max: 40 }), (text, most) => {
        const cut = cutRedacted(redact(text), most, " (cut)");
        const points = Array.from(text);
        expect(Array.from(cut).length).toBeLessThanOrEqual(most);
        expect(cut).toBe(points.length <= most ? text : `${points.slice(0, most - 6).join("")} (cut)`);
      }),
      { numRuns: 100 },
    );
  });
});

it("plain data is redacted text by text, and keeps its form", () => {
  const bytes = new Uint8Array([1]);

  expect(redactTexts(redact, { a: `x ${secret}`, b: [secret, 1, null], bytes })).toEqual({
    a: "x [redacted]",
    b: ["[redacted]", 1, null],
    bytes,
  });
});
