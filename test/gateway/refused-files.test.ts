import { describe, expect, it } from "vitest";
import type { FileChange } from "../../src/domain/index.ts";
import { refusalsOfFile, refusalsOfLockfile } from "../../src/gateway/index.ts";

type Permits = Parameters<typeof refusalsOfFile>[1];
const none: Permits = { binaryKinds: [], joinersBelow: [] };
const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? Buffer.from(content) : content;

function aChange(path: string, content: string | Uint8Array | null, isNew = true): FileChange {
  const blobSha = "0".repeat(40);
  return {
    path,
    before: isNew ? null : { mode: "100644", blobSha, sizeBytes: 1 },
    after: content === null ? null : { mode: "100644", blobSha, content: bytesOf(content) },
  };
}

const refusalsOf = (path: string, content: string | Uint8Array, base: string | null = null, permits = none) =>
  refusalsOfFile({ change: aChange(path, content), base: base === null ? null : Buffer.from(base) }, permits);

describe("a binary file (SEC-98)", () => {
  it.each([
    ["a NUL", Buffer.from("a\0b")],
    ["bytes that are no UTF-8", Buffer.from([0x61, 0xff, 0xfe, 0x62])],
    ["a lone surrogate", Buffer.from([0xed, 0xa0, 0x80])],
  ])("is refused: %s", (_, content) => {
    expect(refusalsOf("a.png", content)).toEqual(["gate:binary_file"]);
  });

  it("of a kind that the operator permits may have a mebibyte", () => {
    const permits = { ...none, binaryKinds: [".png"] };

    expect(refusalsOf("logo.PNG", new Uint8Array(1024 * 1024), null, permits)).toEqual([]);
    expect(refusalsOf("logo.png", new Uint8Array(1024 * 1024 + 1), null, permits)).toEqual(["gate:binary_file"]);
    expect(refusalsOf("logo.gif", new Uint8Array(1), null, permits)).toEqual(["gate:binary_file"]);
  });
});

const hidden = {
  "a zero width space": "\u200b",
  "a word joiner": "\u2060",
  "a soft hyphen": "\u00ad",
  "a right-to-left override": "\u202e",
  "a right-to-left isolate": "\u2067",
  "a left-to-right mark": "\u200e",
  "a tag character": "\u{e0041}",
  "a Hangul filler": "\u3164",
  "a variation selector": "\ufe00",
  "a joiner": "\u200d",
  "a variation selector for emoji": "\ufe0f",
  "a byte order mark within": "a\ufeff",
  "an escape character": "\u001b",
  "a C1 control": "\u009b",
};

describe("what a reader does not see (SEC-99)", () => {
  it.each(Object.entries(hidden))("is refused in an added line and in a name: %s", (_, character) => {
    expect(refusalsOf("a.ts", `const a = "x${character}y";\n`)).toEqual(["gate:invisible_characters"]);
    expect(refusalsOf(`a${character}.ts`, "a\n")).toEqual(["gate:invisible_in_name"]);
    expect(refusalsOfFile({ change: aChange(`a${character}.ts`, null), base: null }, none)).toEqual([
      "gate:invisible_in_name",
    ]);
  });

  it("stays where the base has it, and is refused in a line that is changed", () => {
    const base = "one\u202e\ntwo\n";

    expect(refusalsOf("a.ts", "one\u202e\nthree\n", base)).toEqual([]);
    expect(refusalsOf("a.ts", "one more\u202e\ntwo\n", base)).toEqual(["gate:invisible_characters"]);
  });

  it("is permitted in lines where it joins what is seen: by the operator for a folder, or as the base of the file has it", () => {
    const persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n";
    const emoji = "\u2764\ufe0f\n";
    const permits = { ...none, joinersBelow: ["src/locales"] };

    for (const text of [persian, emoji]) {
      expect(refusalsOf("src/locales/fa.ts", text, null, permits)).toEqual([]);
      expect(refusalsOf("src/locales-x/fa.ts", text, null, permits)).toEqual(["gate:invisible_characters"]);
      expect(refusalsOf("fa.ts", `new ${text}`, `old ${text}`)).toEqual([]);
    }
    expect(refusalsOf("fa.ts", persian, `old ${emoji}`)).toEqual(["gate:invisible_characters"]);
    expect(refusalsOf("src/locales/fa.ts", "a\u202e\n", null, permits)).toEqual(["gate:invisible_characters"]);
    expect(refusalsOf("src/locales/a\u200d.ts", "a\n", null, permits)).toEqual(["gate:invisible_in_name"]);
  });

  it("is no byte order mark at the beginning, tab, form feed or carriage return", () => {
    expect(refusalsOf("a.cs", "\ufeffusing System;\r\n\tx\f\r\n")).toEqual([]);
  });

  it("is an end of a line that only some programs take for one", () => {
    for (const end of ["\r", "\u2028", "\u2029"]) {
      expect(refusalsOf("a.js", `// fine${end}evil()\n`)).toEqual(["gate:invisible_characters"]);
      expect(refusalsOf("a.js", `// fine${end}evil()\nnew\n`, `// fine${end}evil()\n`)).toEqual([]);
    }
  });

  it("is no letter of any language, and no emoji of one character", () => {
    expect(refusalsOf("a.md", "Grüße, 你好, שלום, สวัสดี, हिन्दी, 🎉, naïve\n")).toEqual([]);
  });
});

describe("a lockfile (SEC-98)", () => {
  const base = new Set(["package.json", "package-lock.json", "api/pyproject.toml"]);
  const refusals = (change: FileChange, ...others: readonly FileChange[]) =>
    refusalsOfLockfile(change, [change, ...others], base);
  const manifest = aChange("package.json", "{}", false);

  it("of another package manager is refused, whatever comes with it", () => {
    expect(refusals(aChange("yarn.lock", "x"), manifest)).toEqual(["gate:foreign_lockfile"]);
    expect(refusals(aChange("PNPM-lock.yaml", "x"), manifest)).toEqual(["gate:foreign_lockfile"]);
  });

  it("is refused without a change of its manifest", () => {
    expect(refusals(aChange("package-lock.json", "x", false))).toEqual(["gate:lockfile_alone"]);
    expect(refusals(aChange("package-lock.json", "x", false), aChange("api/pyproject.toml", "x", false))).toEqual([
      "gate:lockfile_alone",
    ]);
    expect(refusals(aChange("package-lock.json", "x", false), manifest)).toEqual([]);
    expect(refusals(aChange("package-lock.json", "x", false), aChange("packages/a/package.json", "x"))).toEqual([]);
    expect(refusals(aChange("api/poetry.lock", "x"), aChange("api/pyproject.toml", "x", false))).toEqual([]);
  });

  it("is no other file, and may be deleted", () => {
    expect(refusals(aChange("src/lock.ts", "x"))).toEqual([]);
    expect(refusals(aChange("package-lock.json", null, false))).toEqual([]);
  });
});
