import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readShown, showHidden, stripHidden, visibleJson } from "../../src/domain/index.ts";

const points = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));
const everyPoint = (): readonly string[] => points(0, 0x10ffff);

describe("hidden code points (SEC-13)", () => {
  const listed: readonly (readonly [name: string, from: number, to: number])[] = [
    ["tags", 0xe0000, 0xe0fff],
    ["variation selectors", 0xfe00, 0xfe0f],
    ["invisible operators and isolates", 0x2060, 0x206f],
    ["the Mongolian vowel separator", 0x180e, 0x180e],
    ["the Hangul filler", 0x3164, 0x3164],
    ["the Hangul choseong and jungseong fillers", 0x115f, 0x1160],
    ["the half width Hangul filler", 0xffa0, 0xffa0],
    ["C0 before the tab", 0x00, 0x08],
    ["C0 after the line feed", 0x0b, 0x1f],
    ["DEL and C1", 0x7f, 0x9f],
    ["lone surrogates", 0xd800, 0xdfff],
  ];

  it.each(listed)("takes out all of %s", (_, from, to) => {
    const all = points(from, to);

    expect(stripHidden(all.join("|")).text).toBe("|".repeat(all.length - 1));
  });

  it("takes out every code point of the categories Cf, Co and Cs", () => {
    const left = everyPoint().filter((point) => /[\p{Cf}\p{Co}\p{Cs}]/u.test(point) && stripHidden(point).text !== "");

    expect(left).toEqual([]);
  });

  it("takes out nothing that is seen, nor blanks, tabs and line feeds", () => {
    const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;
    const gone = everyPoint().filter(
      (point) => (point === "\t" || point === "\n" || !unseen.test(point)) && stripHidden(point).text !== point,
    );

    expect(gone).toEqual([]);
  });

  it("counts by kind what was taken out (SEC-15)", () => {
    const text = "a\u0007\u202e\u200b\u{e0041}\ufe0f\u3164\ue000\ud800\u00adb";

    expect(stripHidden(text)).toEqual({
      text: "ab",
      removed: {
        control: 1,
        bidi_mark: 1,
        zero_width: 1,
        tag_character: 1,
        variation_selector: 1,
        filler: 1,
        private_use: 1,
        lone_surrogate: 1,
        format_character: 1,
      },
    });
  });
});

describe("hidden code points shown (SEC-16)", () => {
  it("makes visible escapes of them and counts them", () => {
    expect(showHidden("if (a\u202e) \u{e0041}\u0007")).toEqual({
      text: "if (a\\u{202E}) \\u{E0041}\\u{0007}",
      shownCount: 3,
    });
  });

  it("leaves everything else as it is, whatever its normal form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { text: plain } = stripHidden(text);
        expect(showHidden(plain)).toEqual({ text: plain, shownCount: 0 });
        expect(stripHidden(showHidden(text).text).removed).toEqual({});
      }),
    );
  });

  it("can be read back, escapes of what is seen aside", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const plain = text.replaceAll("\\", "/");
        expect(readShown(showHidden(plain).text)).toBe(plain);
      }),
    );
    expect(readShown("\\u{0041}\\u{110000}\\u{202e}")).toBe("\\u{0041}\\u{110000}\\u{202e}");
  });

  it("is written in JSON by the escapes of JSON, which parse to the same", () => {
    const value = { path: "a\u202e\u{e0041}.ts" };

    expect(visibleJson(value)).toBe('{"path":"a\\u202e\\udb40\\udc41.ts"}');
    expect(JSON.parse(visibleJson(value))).toEqual(value);
  });
});
