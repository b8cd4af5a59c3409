import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markerOf, readMarker } from "../../src/github/index.ts";

const key = Buffer.alloc(32, 1);
const id = fc.uuid();
const revision = fc.option(fc.integer({ min: 1, max: 999_999_999 }));
const repositoryId = fc.integer({ min: 1, max: 2 ** 40 });
/** A text as people write it, without a line that could be a marker. */
const words = fc.string({ unit: "binary" }).filter((text) => !text.includes("countersign:"));

describe("a marker (AUD-62)", () => {
  it("is read back from the end of any text, whatever the line ends", () => {
    fc.assert(
      fc.property(words, id, repositoryId, fc.constantFrom("\n", "\r\n"), (text, actionId, repository, end) => {
        const marker = { id: actionId, revision: null };
        const whole = `${text}${end}${end}${markerOf(key, repository, marker)}${end}`;
        expect(readMarker(key, repository, whole)).toEqual({ first: marker, latest: marker });
      }),
    );
  });

  it("of the writing is kept beside that of the last edit", () => {
    fc.assert(
      fc.property(id, id, fc.integer({ min: 1, max: 1e6 }), (first, latest, count) => {
        const made = { id: first, revision: null };
        const edited = { id: latest, revision: count };
        const text = `words\n\n${markerOf(key, 1, made)}\n${markerOf(key, 1, edited)}`;
        expect(readMarker(key, 1, text)).toEqual({ first: made, latest: edited });
      }),
    );
  });

  it("is void under another key, in another repository, for another action or revision", () => {
    fc.assert(
      fc.property(id, revision, id, (actionId, count, other) => {
        fc.pre(actionId !== other);
        const text = markerOf(key, 1, { id: actionId, revision: count });
        expect(readMarker(Buffer.alloc(32, 2), 1, text)).toBeNull();
        expect(readMarker(key, 2, text)).toBeNull();
        expect(readMarker(key, 1, text.replace(actionId, other))).toBeNull();
        const otherCount = count === null ? `${actionId}:1:` : `${actionId}:${count + 1}:`;
        const was = count === null ? `${actionId}:` : `${actionId}:${count}:`;
        expect(readMarker(key, 1, text.replace(was, otherCount))).toBeNull();
      }),
    );
  });

  it("is void after any change of one character", () => {
    const text = markerOf(key, 1, { id: "0190a1b2-0000-7000-8000-000000000001", revision: 3 });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        fc.pre(changed !== text && changed.trimEnd() !== text);
        expect(readMarker(key, 1, changed)).toBeNull();
      }),
    );
  });

  it("counts for nothing where it is quoted further up", () => {
    const marker = markerOf(key, 1, { id: "a", revision: null });
    for (const text of [
      `${marker}\n\nmore words`,
      `> ${marker}`,
      `\`${marker}\``,
      `${marker} and more`,
      `x ${marker}`,
      "",
    ])
      expect(readMarker(key, 1, text)).toBeNull();
  });

  it("can't be forged by a text alone", () => {
    fc.assert(
      fc.property(id, fc.stringMatching(/^[0-9a-f]{32}$/), (actionId, mac) => {
        expect(readMarker(key, 1, `<!-- countersign:${actionId}:${mac} -->`)).toBeNull();
      }),
    );
  });
});
