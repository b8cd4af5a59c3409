import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collisionKey, looksLikeGitFolder, refusedName, showName } from "../../src/workspace/file-names.ts";
import { missingProgram } from "../../src/workspace/index.ts";
import { bytesOfName, isUtf8Name, nameOfBytes } from "../../src/workspace/path-bytes.ts";

describe("names as text", () => {
  it("go to bytes and back without loss, and never meet", () => {
    const bytes = fc.uint8Array({ maxLength: 12 }).map((array) => Buffer.from(array));

    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        expect(bytesOfName(nameOfBytes(one)).equals(one)).toBe(true);
        expect(nameOfBytes(one) === nameOfBytes(other)).toBe(one.equals(other));
      }),
      { numRuns: 500 },
    );
  });

  it("tell whether they were valid UTF-8, encoded surrogates included", () => {
    expect(isUtf8Name(nameOfBytes(Buffer.from("é\u{FFFD}😀")))).toBe(true);
    expect(isUtf8Name(nameOfBytes(Buffer.from([0x61, 0xff])))).toBe(false);
    expect(isUtf8Name(nameOfBytes(Buffer.from([0xed, 0xb2, 0x80])))).toBe(false);
  });
});

describe("names that no commit may gain", () => {
  it("are the spellings of .git on HFS+ and NTFS", () => {
    for (const name of [
      ".git",
      ".GIT",
      ".Git",
      ".git.",
      ".git ",
      ".git . .",
      "git~1",
      "GIT~1",
      "git~2",
      ".git:x",
      ".git::$DATA",
      ".g\u200cit",
      "\u206a.git",
      ".gi\ufe0ft",
    ]) {
      expect(looksLikeGitFolder(name), name).toBe(true);
    }
    for (const name of [".gitignore", ".gitmodules", "git", "a.git", ".github", "..git"])
      expect(looksLikeGitFolder(name), name).toBe(false);
  });

  it("are those with control bytes, backslashes and nothing", () => {
    expect(
      ["", ".", "..", "a\nb", "a\u{85}b", "a\\b", "\u{dcff}"].map((name) => refusedName(name) === null),
    ).not.toContain(true);
    expect(["a b", "é", "日本", "a:b", "-rf", "~"].map(refusedName)).toEqual([null, null, null, null, null, null]);
  });

  it("are those that some file system takes for another", () => {
    const same = (one: string, other: string): boolean => collisionKey(one) === collisionKey(other);

    expect([
      same("A", "a"),
      same("é", "e\u0301"),
      same("ß", "SS"),
      same("ﬁ", "FI"),
      same("a\u200d", "a"),
      same("a. .", "a"),
      same("Σ", "ς"),
    ]).toEqual(Array(7).fill(true));
    expect([same("a", "b"), same("a.b", "ab"), same(" a", "a"), same("é", "e")]).toEqual(Array(4).fill(false));
  });

  it("are shown with their hidden parts", () => {
    expect(showName("a\u202eb\n")).toBe('"a\\u{202e}b\\n"');
  });
});

describe("missingProgram", () => {
  const of = (exitCode: number, output: string) => missingProgram({ exitCode, output: Buffer.from(output) }, []);

  it("names the program as bash, a shell below, make and env word it, and where it was looked for", () => {
    const lookedIn = ["/opt/tools/bin", "/usr/local/bin", "/usr/bin", "/bin"];

    expect(of(127, "/opt/command/script: line 1: cargo: command not found\n")).toEqual({ name: "cargo", lookedIn });
    expect(of(127, "x\nsh: 1: jest: not found\n")?.name).toBe("jest");
    expect(of(2, "go test\nmake: go: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n")?.name).toBe(
      "go",
    );
    expect(of(127, "/usr/bin/env: ‘deno’: No such file or directory\n")?.name).toBe("deno");
  });

  it("says nothing of a program that ran", () => {
    expect(of(1, "script: line 1: cargo: command not found\n")).toBeNull();
    expect(of(127, "some test exited so\n")).toBeNull();
    expect(of(0, "")).toBeNull();
  });
});
