import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalBytes,
  checkPlainValue,
  type JsonValue,
  jsonDepthLimit,
  jsonSizeLimitBytes,
  parseStrictJson,
} from "../../src/domain/index.ts";

const canonicalText = (value: JsonValue): string => new TextDecoder().decode(canonicalBytes(value));
const codeOf = (text: string | Uint8Array): string => {
  const parsed = parseStrictJson(text);
  return parsed.kind === "value" ? "accepted" : parsed.code;
};
/** Strings with every kind of code point, well-formed; no key that the gate refuses by name. */
const anyText = fc.string({ unit: "binary" });
const anyKey = anyText.filter((key) => key !== "__proto__");
const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true });
const { value: anyJson } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    anyNumber,
    fc.integer(),
    anyText,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(anyKey, tie("value"), { maxKeys: 5 }),
  ),
}));

describe("parseStrictJson (AUD-14)", () => {
  it("reads every text that JSON.stringify writes to the same value", () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
        const text = JSON.stringify(
          value,
          (_key, part: JsonValue) => (typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER ? 0 : part),
          indent,
        );

        const parsed = parseStrictJson(text);

        expect(parsed).toEqual({ kind: "value", value: JSON.parse(text) as JsonValue });
      }),
    );
  });

  it("refuses every text that JSON.parse refuses, and reads no other value", () => {
    const fragments = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "a",
      "\\",
      "u0041",
      "0",
      "1",
      "-",
      ".",
      "e",
      "true",
      "null",
      " ",
      "\n",
      "\u0001",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        let expected: unknown;
        try {
          expected = { kind: "value", value: JSON.parse(text) as unknown };
        } catch {
          expected = expect.objectContaining({ kind: "refused", code: "not_json" });
        }

        const parsed = parseStrictJson(text);

        if (parsed.kind === "refused" && parsed.code !== "not_json") return; // stricter than JSON.parse, tested below
        expect(parsed).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ["an empty text", "", "not_json", 0],
    ["a second value", "1 2", "not_json", 2],
    ["a comma before a bracket", "[1,]", "not_json", 3],
    ["a byte order mark", "\ufeff1", "not_json", 0],
    ["an unescaped control", '"\u0001"', "not_json", 1],
    ["a leading zero", "01", "not_json", 1],
    ["NaN", "NaN", "not_json", 0],
    ["a duplicate key", '{"a":1,"a":2}', "duplicate_key", 7],
    ["a duplicate key by escape", String.raw`{"a":1,"\u0061":2}`, "duplicate_key", 7],
    ["a duplicate key further in", '[{"x":{"a":1,"b":2,"a":1}}]', "duplicate_key", 19],
    ["a prototype key", '{"__proto__":{}}', "proto_key", 1],
    ["a prototype key by escape", String.raw`{"\u005f_proto__":{}}`, "proto_key", 1],
    ["a lone high surrogate by escape", String.raw`{"k":"\uD800"}`, "lone_surrogate", 6],
    ["a lone low surrogate by escape", String.raw`"\udc00x"`, "lone_surrogate", 1],
    ["a lone surrogate in a key", String.raw`{"\ud83dx":1}`, "lone_surrogate", 2],
    ["a lone surrogate in the text", '"a\ud800b"', "lone_surrogate", 2],
    ["a surrogate before an escape of another kind", String.raw`"\ud83d\n"`, "lone_surrogate", 1],
    ["reversed surrogates by escape", String.raw`["\ude00\ud83d"]`, "reversed_surrogates", 2],
    ["reversed surrogates in the text", '["\ude00\ud83d"]', "reversed_surrogates", 2],
    ["an integer beyond 2^53-1", "9007199254740992", "integer_out_of_range", 0],
    ["an integer below -(2^53-1)", "[-9007199254740993]", "integer_out_of_range", 1],
    ["an integer of 400 digits", "9".repeat(400), "integer_out_of_range", 0],
    ["a number beyond a double", "1e400", "number_overflow", 0],
    ["a number below a double", "-1.5E+309", "number_overflow", 0],
    ["65 arrays in one another", "[".repeat(65) + "]".repeat(65), "too_deep", 64],
    ["100,000 brackets", "[".repeat(100_000), "too_deep", 64],
    ["65 objects in one another", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "too_deep", 320],
    ["over 1 MiB", `"${"a".repeat(jsonSizeLimitBytes - 1)}"`, "too_large", 0],
    ["over 1 MiB in UTF-8 only", `"${"é".repeat(jsonSizeLimitBytes / 2)}"`, "too_large", 0],
  ])("refuses %s", (_what, text, code, position) => {
    expect(parseStrictJson(text)).toEqual({ kind: "refused", code, position });
  });

  it.each([
    ["the byte 0xff", [0x22, 0xff, 0x22], 1],
    ["a surrogate in UTF-8", [0x22, 0xed, 0xa0, 0x80, 0x22], 2],
    ["an overlong slash", [0x22, 0x61, 0xc0, 0xaf, 0x22], 2],
    ["a sequence cut off by the end", [0x22, 0xe2, 0x82], 3],
  ])("refuses %s and says where", (_what, bytes, position) => {
    expect(parseStrictJson(new Uint8Array(bytes))).toEqual({ kind: "refused", code: "invalid_utf8", position });
  });

  it("accepts what lies exactly on its limits", () => {
    const deep = "[".repeat(jsonDepthLimit) + "]".repeat(jsonDepthLimit);
    const large = `"${"a".repeat(jsonSizeLimitBytes - 2)}"`;

    expect(codeOf(deep)).toBe("accepted");
    expect(codeOf(large)).toBe("accepted");
    expect(codeOf("[9007199254740991,-9007199254740991,1.7976931348623157e308,1e20,5e-324,1e-400]")).toBe("accepted");
  });

  it("keeps names of Object's prototype and pairs of surrogates as they are", () => {
    const parsed = parseStrictJson(String.raw`{"constructor":1,"toString":2,"hasOwnProperty":3,"e":"\ud83d\ude00é"}`);

    expect(parsed).toEqual({
      kind: "value",
      value: { constructor: 1, toString: 2, hasOwnProperty: 3, e: "😀é" },
    });
  });

  it("does no Unicode normalisation", () => {
    expect(parseStrictJson('"e\u0301"')).toEqual({ kind: "value", value: "e\u0301" });
    expect(canonicalText("e\u0301")).not.toBe(canonicalText("é"));
  });

  it("reads bytes and text alike", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const json = JSON.stringify({ text });

        expect(parseStrictJson(Buffer.from(json))).toEqual(parseStrictJson(json));
      }),
    );
  });
});

describe("checkPlainValue (AUD-14)", () => {
  const sparse = [1, 2, 3];
  delete sparse[1];
  const withProto = Object.defineProperty({}, "__proto__", { value: 1, enumerable: true });
  class Point {
    readonly x = 1;
  }
  class Dated {
    toJSON(): string {
      return "now";
    }
  }
  const endless: unknown[] = [];
  endless.push(endless);
  let bomb: unknown = "x";
  for (let level = 0; level < 60; level += 1) bomb = [bomb, bomb];
  let deep: unknown = 1;
  for (let level = 0; level < 65; level += 1) deep = [deep];

  it.each<[string, unknown, string, string]>([
    ["NaN", { a: [Number.NaN] }, "nan", "/a/0"],
    ["Infinity", [Number.POSITIVE_INFINITY], "infinity", "/0"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "infinity", ""],
    ["a BigInt", { n: 1n }, "bigint", "/n"],
    ["undefined", { "a/b": { "~": undefined } }, "undefined", "/a~1b/~0"],
    ["undefined in an array", [undefined], "undefined", "/0"],
    ["a function", { f: () => 1 }, "function", "/f"],
    ["a symbol", [Symbol("s")], "symbol", "/0"],
    ["a symbol as key", { [Symbol("s")]: 1 }, "symbol", "/Symbol(s)"],
    ["a sparse array", sparse, "sparse_array", ""],
    ["an array with length alone", new Array(3), "sparse_array", ""],
    ["an array with a name of its own", Object.assign([1], { extra: 2 }), "hidden_property", "/extra"],
    ["a Date", { at: new Date(0) }, "date", "/at"],
    ["a Map", new Map(), "map", ""],
    ["a Set", new Set(), "set", ""],
    ["a typed array", new Float64Array(2), "typed_array", ""],
    ["a Buffer", Buffer.from("a"), "typed_array", ""],
    ["an ArrayBuffer", new ArrayBuffer(2), "typed_array", ""],
    ["a boxed number", Object(1), "boxed", ""],
    ["a boxed string", Object("a"), "boxed", ""],
    ["a boxed boolean", Object(false), "boxed", ""],
    ["a toJSON of its own", { toJSON: () => 1 }, "to_json", ""],
    ["a toJSON of its class", new Dated(), "to_json", ""],
    ["a getter", Object.defineProperty({}, "a", { get: () => 1, enumerable: true }), "getter", "/a"],
    [
      "a getter named toJSON",
      Object.defineProperty({}, "toJSON", { get: () => expect.fail("it ran") }),
      "getter",
      "/toJSON",
    ],
    ["a getter in an array", Object.defineProperty([0], "0", { get: () => 1 }), "getter", "/0"],
    ["a property that is not enumerable", Object.defineProperty({}, "a", { value: 1 }), "hidden_property", "/a"],
    ["an object of a class", new Point(), "foreign_prototype", ""],
    ["an array of a class", new (class extends Array {})(), "foreign_prototype", ""],
    ["an object made from another", Object.create({ a: 1 }), "foreign_prototype", ""],
    ["an own __proto__ key", withProto, "proto_key", "/__proto__"],
    ["a proxy", new Proxy({}, {}), "proxy", ""],
    ["a lone surrogate", { k: "a\ud800" }, "lone_surrogate", "/k"],
    ["a lone surrogate in a key", { "\udfff": 1 }, "lone_surrogate", "/\udfff"],
    ["reversed surrogates", ["\ude00\ud83d"], "reversed_surrogates", "/0"],
    ["a cycle", endless, "too_deep", "/0".repeat(64)],
    ["65 arrays in one another", deep, "too_deep", "/0".repeat(64)],
    ["a text over 1 MiB", "a".repeat(jsonSizeLimitBytes + 1), "too_large", ""],
  ])("refuses %s and says where", (_what, value, code, position) => {
    expect(checkPlainValue(value)).toEqual({ code, position });
  });

  it("ends soon on a small value that names its parts again and again", () => {
    expect(checkPlainValue(bomb)).toMatchObject({ code: "too_large" });
  });

  it("accepts every JSON value, also without a prototype and with a part named twice", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(checkPlainValue(value)).toBeNull();
        expect(checkPlainValue([value, value, Object.assign(Object.create(null), { value })])).toBeNull();
      }),
    );
  });
});

describe("canonicalBytes (AUD-13)", () => {
  it("is a fixed point: its text parses to an equal value with equal bytes", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const bytes = canonicalBytes(value);

        const again = canonicalBytes(JSON.parse(new TextDecoder().decode(bytes)) as JsonValue);

        expect(Buffer.from(again).equals(bytes)).toBe(true);
      }),
    );
  });

  it("does not depend on the order in which keys were written", () => {
    fc.assert(
      fc.property(fc.dictionary(anyKey, anyJson), (value) => {
        const backwards = Object.fromEntries(Object.entries(value).reverse());

        expect(canonicalText(backwards)).toBe(canonicalText(value));
      }),
    );
  });

  // RFC 8785 appendix B: IEEE 754 bits and the text they must give.
  it.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("formats the number %s as %s", (bits, text) => {
    expect(canonicalText(Buffer.from(bits, "hex").readDoubleBE())).toBe(text);
  });

  it("sorts keys by UTF-16 code units, as in RFC 8785 section 3.2.3", () => {
    const value = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 };

    expect(canonicalText(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}');
  });

  it("writes the example of RFC 8785 section 3.2.2 as section 3.2.3 does", () => {
    const parsed = parseStrictJson(
      String.raw`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
    );

    expect(parsed.kind === "value" && canonicalText(parsed.value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("throws on what is no plain JSON rather than dropping it", () => {
    expect(() => canonicalBytes({ a: undefined } as unknown as JsonValue)).toThrow("`undefined` at `/a`");
    expect(() => canonicalBytes("\u0001".repeat(jsonSizeLimitBytes / 2))).toThrow("too_large");
  });
});
