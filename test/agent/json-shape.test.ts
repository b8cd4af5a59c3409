import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonShape } from "../../src/agent/json-shape.ts";

test("every proper beginning of an object's JSON is cut, and the whole is whole", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (value, share) => {
        const text = JSON.stringify(value);
        const cut = text.slice(0, Math.floor(share * (text.length - 1)));

        expect(jsonShape(text)).toBe("whole");
        expect(jsonShape(cut)).toBe("cut");
      },
    ),
  );
});

test.each(['{"path" "a"}', "{'path': 'a'}", "{path: 1}", "read it", '{"a":1}}', '{"a":1,}'])(
  "%s is broken, not cut",
  (text) => {
    expect(jsonShape(text)).toBe("broken");
  },
);
