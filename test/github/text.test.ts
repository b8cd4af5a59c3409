import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../src/domain/index.ts";
import * as texts from "../../src/github/index.ts";

const { cutText, textLimitBytes } = texts;
const { redact } = createRedactor([]);
const inert = (text: string): string => texts.inert(redact(text));
const fenced = (text: string, language?: string): string => texts.fenced(redact(text), language);

const parse = (text: string) => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
const kindsOf = (node: Nodes): readonly string[] => [
  node.type,
  ...("children" in node ? node.children.flatMap((child) => kindsOf(child)) : []),
];
/** What people read: text without the marks of Markdown. */
function textsOf(node: Nodes): string {
  if ("children" in node) return node.children.map(textsOf).join("");
  return "value" in node ? node.value : "";
}

/** Markdown full of what GitHub acts on. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "@org/team",
        "@octo",
        "#1",
        "GH-1",
        "gh\\-2",
        "octo/repo#3",
        "Closes #1",
        "fixes GH-4",
        "\n/deploy",
        "/merge",
        "![x](https://evil.test/a.png)",
        "[x](https://evil.test)",
        "[x]: https://evil.test\n",
        "<img src=x>",
        "<!-- x -->",
        "https://evil.test/",
        "http\\://evil.test",
        "www.evil.test",
        "a@evil.test",
        "<https://evil.test>",
        "&#64;octo",
        "&num;1",
        "```",
        "````\n",
        "~~~~\n",
        "`",
        "\n\n",
        "\n",
        "\r",
        "> ",
        "- ",
        "[",
        "]",
        "(",
        ")",
        "!",
        "\\",
        "&",
        "<",
        "\u202e",
        " ",
        "https://github.example.test/octo/repo/issues/1",
        "[^1]",
        "[^1]: note\n",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(""));

describe("inert text (AT-34, SEC-115)", () => {
  it.each([
    "@org/team",
    "see @octo.",
    "Closes #1",
    "fixes octo/repo#12",
    "resolves GH-7",
    "closes https://github.example.test/octo/repo/issues/1",
    "![pixel](https://evil.test/a.png)",
    "![pixel][1]\n\n[1]: https://evil.test/a.png",
    '<img src="https://evil.test/a.png">',
    "[click](https://evil.test)",
    "<https://evil.test>",
    "www.evil.test",
    "someone@evil.test",
    "&#64;org/team and &num;1",
    "\\@octo \\#1 GH\\-1",
    "<!-- countersign:x:y -->",
  ])("of `%s` has no mention, reference, link, image or HTML, and reads the same", (text) => {
    const broken = inert(text);
    const kinds = kindsOf(parse(broken));

    expect(kinds.filter((kind) => /link|image|html|definition/i.test(kind))).toEqual([]);
    expect(textsOf(parse(broken))).not.toMatch(/@\w|#\d|GH-\d|:\/\//i);
    expect(broken.replaceAll("\u200b", "")).toBe(text);
  });

  it("starts no command of a bot", () => {
    expect(inert("/deploy\n  /merge\n- /close\n> /label").split("\n")).toEqual([
      "\u200b/deploy",
      "  \u200b/merge",
      "- \u200b/close",
      "> \u200b/label",
    ]);
  });

  it.each(["\n", " \n", "\u2028", "> "])("is made in time that grows with its length: `%j`", (piece) => {
    const from = process.cpuUsage();
    inert(piece.repeat(60_000));
    const { user, system } = process.cpuUsage(from);

    expect((user + system) / 1000).toBeLessThan(1_000);
  });

  it("opens no fence that would swallow what follows", () => {
    for (const fence of ["```", "~~~", "``````", "  ```js"])
      expect(kindsOf(parse(`${inert(`words\n${fence}\nmore`)}\n\nThe host's own words.`))).not.toContain("code");
  });

  it("leaves ordinary words alone", () => {
    const text = "Sum the *prices* of `a/b.ts`: 3 # 4, 50 % & x < y?".replace(/[&<]/g, "+");
    expect(inert(text)).toBe(text);
  });

  it("holds for any text", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const root = parse(inert(text));
        expect(kindsOf(root).filter((kind) => /^(link|image|html|definition)/i.test(kind))).toEqual([]);
        expect(textsOf(root)).not.toMatch(/@\w|#\d|\bGH-\d|:\/\/|[\u202a-\u202e]/i);
        expect(inert(text)).not.toMatch(/^\s*\//m);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("fenced text (AT-34, SEC-115)", () => {
  it("is one code block that nothing in it closes", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const root = parse(`Before.\n\n${fenced(text)}\n\nAfter @nobody.`);
        expect(root.children.map(({ type }) => type)).toEqual(["paragraph", "code", "paragraph"]);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps the text", () => {
    expect(fenced("a ``` b", "text")).toBe("````text\na ``` b\n````");
    expect(fenced("line\n")).toBe("```\nline\n```");
  });
});

describe("cut text", () => {
  const notice = /Cut here: (\d+) of (\d+) bytes are missing\. The whole text: `countersign runs show x`$/;
  const whole = "`countersign runs show x`";

  it("is the text itself where it fits", () => {
    expect(cutText("short", whole)).toBe("short");
  });

  it("is cut at a code point and says how much is missing", () => {
    const text = "😀".repeat(30_000);

    const cut = cutText(text, whole);

    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(textLimitBytes - 512);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).not.toContain("\ufffd");
    const [, missing, all] = notice.exec(cut) ?? [];
    expect(Number(all)).toBe(120_000);
    expect(Buffer.byteLength(cut.split("\n\nCut here")[0] ?? "") + Number(missing)).toBe(120_000);
  });

  it("closes what it left open: a fence, a folded part", () => {
    const cut = cutText(`<details>\n<summary>log</summary>\n\n~~~~text\n${"x\n".repeat(5000)}`, whole, 1000);

    expect(cut).toMatch(/\n~~~~\n<\/details>\n\nCut here: /);
  });

  it("leaves no code span open whose text would be acted on", () => {
    const shown = "`@org/team closes #1 ![x](https://evil.test/x.png) <img src=x>`";
    const text = Array.from({ length: 20 }, (_, at) => `- \`edit\` of ${shown}: denied by \`rule:${at}\``).join("\n");

    for (let limit = 200; limit < 900; limit += 1) {
      const root = parse(cutText(text, whole, limit));
      const codes = (node: Nodes): string => ("children" in node ? node.children.map(codes).join("") : bare(node));
      const bare = (node: Nodes): string => (node.type === "text" ? node.value : "");
      expect(kindsOf(root).filter((kind) => /^(image|html)/.test(kind))).toEqual([]);
      expect(codes(root)).not.toMatch(/@org|#1/);
    }
  });

  it("keeps a line that ends where it is cut, and what is in a fence", () => {
    const line = `- \`${"a".repeat(40)}\``;
    const lines = Array.from({ length: 40 }, () => line).join("\n");
    const keptOf = (text: string, limit: number): string => cutText(text, whole, limit).split("\n\nCut here")[0] ?? "";

    expect(new Set(keptOf(lines, 1_000).split("\n").slice(0, -1))).toEqual(new Set([line]));
    expect(keptOf(`~~~\n${"`x ".repeat(1_000)}`, 1_000)).toMatch(/^~~~\n(`x ){200,}/);
  });

  it("is within the limit, valid UTF-8 and ends outside any fence, for any text", () => {
    const line = fc.oneof(
      fc.constantFrom("```", "~~~", "````", "   ```js", "`````", "    ```", "``` x ` y", "text", "😀😀", "é"),
      fc.string({ unit: "binary", maxLength: 30 }),
    );
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 20, maxLength: 80 }),
        fc.integer({ min: 200, max: 600 }),
        (lines, limit) => {
          const text = lines.join("\n");
          const cut = cutText(text, whole, limit);

          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
          expect(cut.isWellFormed()).toBe(true);
          const isCut = Buffer.byteLength(text.toWellFormed()) > limit;
          const last = parse(cut.replace(/[<>\r]/g, ".")).children.at(-1);
          expect({ hasNotice: notice.test(cut), isLastInCode: isCut && last?.type === "code" }).toEqual({
            hasNotice: isCut,
            isLastInCode: false,
          });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("fits where the fence itself is longer than the room", () => {
    for (const text of ["`".repeat(70_000), `${"`".repeat(40_000)}\n${"x\n".repeat(20_000)}`])
      expect(Buffer.byteLength(cutText(text, whole))).toBeLessThanOrEqual(textLimitBytes);
  });
});
