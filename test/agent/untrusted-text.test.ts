import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { untrusted } from "../../src/agent/index.ts";
import { stripHidden } from "../../src/domain/index.ts";
import { stranger, visibleText } from "../support/texts.ts";

const visible = (markdown: string): string => visibleText(markdown).text;

describe("visible text of an issue (SEC-12)", () => {
  it.each([
    ["a comment that is left open in a quote", "a\n\n> <!--\n\ndo X\n\n<!-- -->\n\nbye"],
    ["a comment that is left open in a list", "a\n\n- <!--\n\ndo X\n\n<!-- -->\n\nbye"],
    ["an instruction that is left open in a quote", "a\n\n> <?\n\ndo X\n\nbye"],
    ["a quoted attribute that a blank line cuts", 'a\n\n<div title="\n\ndo X\n\n<p id="">x</p>'],
    ["one in the other quotes", "a\n\n<div title='\n\ndo X\n\n<p id=''>x</p>"],
    ["one with an end of a tag in it", 'a\n\n<div title=">\n\ndo X\n\n<p id="">x</p>'],
    ["a tag that a blank line cuts", "a\n\n<div\n\ndo X\n\n> b"],
    ["what only readers without ruby see", "a <ruby>b<rp>do X</rp></ruby>"],
  ])("has nothing of %s", (_what, markdown) => {
    expect(visible(markdown)).toMatch(/^a/);
    expect(visible(markdown)).not.toContain("do X");
  });

  it.each([
    ["a comment", "a <!-- do X --> b", "a  b"],
    ["a comment over lines", "a\n\n<!--\ndo X\n-->\n\nb", "a\n\n\n\nb"],
    ["a comment that nothing ends", "a\n\n<!-- do X\n\nb", "a\n\n"],
    ["a comment with a dash in its mark", "a\n\n<!--> b <!-- do X --!> c\n", "a\n\n b  c\n"],
    ["a comment that is encoded (AT-12)", "a &#60;!-- do X --&#62; b", "a  b"],
    ["one encoded by name, twice", "a &amp;lt;!-- do X --&amp;gt; b", "a  b"],
    ["one with an invisible character in its mark", "a <\u200b!-- do X --> b", "a  b"],
    ["a declaration, an instruction and a section", "a <?php do X ?> <!DOCTYPE x> <![CDATA[do X]]> b", "a    b"],
    ["a script", "a\n\n<script>\ndo X\n</script>\n\nb", "a\n\n\n\nb"],
    ["a style within a line", "a <style>do X</style> b", "a  b"],
    ["a script that a comment seems to end", "a\n\n<script><!-- </script> b", "a\n\n b"],
    ["a hidden element", "a <b hidden>do X</b> c", "a  c"],
    ["a hidden element of Markdown", "a\n\n<div hidden>\n\ndo **X**\n\n```\ndo X\n```\n\n</div>\n\nb", "a\n\n\n\nb"],
    ["elements of its name within it", "<div hidden><div>do X</div>do X</div>b", "b"],
    ["an end tag in a comment or a script", "<div hidden><!-- </div> --><script></div></script>do X</div>b", "b"],
    ["a hidden element that is not closed", "a\n\n<p hidden>\n\ndo X", "a\n\n"],
    ["an element hidden by its style", 'a <i style="display : NONE">do X</i> b', "a  b"],
    ["one whose style is encoded", 'a <i style="display&#58;none">do X</i> b', "a  b"],
    ["one hidden beside a broken attribute", "<div>\n<i = hidden>do X</i>\n</div> b", "\n\n b"],
    ["one hidden after a tag's odd quotes", `a <i x="'" hidden y='"'>do X</i> b`, "a  b"],
    ["one whose tag goes over lines in a quote", "> <i\n> hidden>do X</i> b", ">  b"],
    ["a template", "a <template>do X</template> b", "a  b"],
    ["a tag's attributes", '<a href="https://x.example" title="do X">see</a> <img alt="do X"> b', "see  b"],
    ["the title of a link", '[see](docs/a.md "do X")', "[see](<docs/a.md>)"],
    ["a target elsewhere", "[see](https://x.example/do-X) b", "see b"],
    ["a target elsewhere without a scheme", "[see](//x.example/do-X) [here](\\\\\\\\x.example) b", "see here b"],
    ["a target that begins like the host", "[see](https://github.com@x.example/do-X) b", "see b"],
    ["a target of another scheme", "[see](javascript:doX) [mail](mailto:do@x.example) b", "see mail b"],
    ["the text of an image", "![do X](https://github.com/o/r/a.png)", "![](<https://github.com/o/r/a.png>)"],
    ["an image elsewhere", '![do X](https://x.example/a.png "do X") b', " b"],
    ["an image within a link", "[![do X](https://x.example/a.png)](https://x.example) b", " b"],
    ["a definition that nothing uses", "a\n\n[//]: # (do X)\n\nb", "a\n\n\n\nb"],
    ["a definition, and the label that names it", '[see][do X]\n\n[do X]: https://x.example "do X"\n', "see\n\n\n"],
    ["the label of a target on the host", "[see][do X]\n\n[do X]: /o/r/x\n", "[see](</o/r/x>)\n\n\n"],
    ["a footnote that nothing refers to", "a\n\n[^x]: do X\n", "a\n\n\n"],
    ["footnotes that only refer to each other", "a\n\n[^x]: do X [^y]\n\n[^y]: do X [^x]\n", "a\n\n\n\n\n"],
    ["the second footnote of a name", "a[^x]\n\n[^x]: seen\n\n[^x]: do X\n", "a[^1]\n\n[^1]: seen\n\n\n"],
    ["the label of a footnote", "a[^do-X]\n\n[^do-X]: seen\n", "a[^1]\n\n[^1]: seen\n"],
    ["the rest of a fence's info", "```js do X\ncode\n```\n", "```js\ncode\n```\n"],
    ["an info that names no language", "```do-X-and-then-do-more-of-X\ncode\n```\n", "```\ncode\n```\n"],
    ["cells beyond the columns", "| a |\n|---|\n| b | do X |\n", "| a |\n|---|\n| b \n"],
    [
      "what two cells seem to make code",
      "| a | b | c |\n|--|--|--|\n| ` | <!-- do X --> | ` |\n",
      "| a | b | c |\n|--|--|--|\n| ` |  | ` |\n",
    ],
    ["what an address seems to make code", "https://a.example/`<!-- do X -->`", "https://a.example/``"],
  ])("takes out %s", (_, markdown, expected) => {
    expect(visible(markdown)).toBe(expected);
    expect(visible(markdown)).not.toMatch(/do.?.?X/i);
  });

  it.each([
    ["prose, lists, quotes and emphasis", "# Sum\n\n- *it* adds **one**\n  1. a_b_c\n\n> x ~~y~~\n\n- [ ] open\n"],
    [
      "code with tags, comments and references",
      "```html\n<!-- x --> <b hidden>&lt;&amp;</b>\n```\n\n`<i>&lt;</i>`\n\n    <!-- y -->\n",
    ],
    ["comparison signs and ampersands", "a < b && c > d, AT&T, a <- b, i<n; x ? &y : z"],
    [
      "addresses that are their own text",
      "see https://x.example/?a=1&copy=2 and <https://x.example/b> and www.x.example",
    ],
    [
      "links and images on the repository's host",
      "[a](../b.md) [c](#d) [e](https://github.com/o/r/issues/1) ![](a.png)",
    ],
    ["brackets that link nothing", "a[0], [x], [ ] and [INFO] x"],
    ["a table", "| a | b |\n|:--|--:|\n| `x\\|y` | z |\n"],
    ["text in other scripts, in normal form", "Größe – naïve – 日本語 – עברית – हिन्दी – 한국어".normalize("NFC")],
  ])("leaves %s as it is", (_, markdown) => {
    expect(visibleText(markdown)).toMatchObject({ text: markdown, removed: {} });
  });

  it.each([
    ["without blank lines", "<details>\n<summary>Log</summary>\nERROR at 3\n</details>\n"],
    ["with blank lines", "<details>\n<summary>Log</summary>\n\n```\nERROR at 3 <none>\n```\n\n</details>\n"],
  ])("keeps a folded part and its log, %s", (_, markdown) => {
    const { text, removed } = visibleText(markdown);

    expect(text).toMatch(/Log\s[\s\S]*ERROR at 3/);
    expect(removed).toEqual({ html_tag: 4 });
  });

  it("leaves a space where a tag parted words, and none within a word", () => {
    expect(visible("<table><tr><td>one</td><td>two</td></tr></table>")).toBe("one two ");
    expect(visible("in<b>vis</b>ible")).toBe("invisible");
  });

  it("keeps the tags of a title, which GitHub shows as they were typed, and drops its comments", () => {
    expect(visibleText("Map<string> fails <!-- do X -->", "issue_title").text).toBe("Map<string> fails ");
  });

  it("counts what was taken out by kind (SEC-15)", () => {
    const markdown = 'a<!-- x --><b>b</b> [c](https://x.example "t") ![d](e.png)\u200b\n\n[f]: g\n\n<i hidden>h</i>';

    expect(visibleText(markdown).removed).toEqual({
      html_comment: 1,
      html_tag: 2,
      hidden_element: 1,
      link_title: 1,
      outside_target: 1,
      image_text: 1,
      definition: 1,
      zero_width: 1,
    });
  });
});

/** Fragments of which hostile texts are made. */
const fragments = fc.constantFrom(
  ...'<!-- --> <b> </b> <i hidden> <script> </script> <style> <div> </div> <br/> [a] [a]: (x) (//x "t") ![ ] ` ``` ~~~ | |- > - 1.'.split(
    " ",
  ),
  ..."$ $$ $\\x %} https://github.com/?a ```mermaid &lt; &amp; &#60; &#x3c &gt; &#96; &#10; \\ \n \n\n \t \u200b \u{e0041} \u202e [^n] [^n]: \r é e\u0301 x".split(
    " ",
  ),
);
const hostile = fc.array(fragments, { maxLength: 24 }).map((parts) => parts.join(""));

describe("the fixed point (SEC-14)", () => {
  it("changes nothing in what it has made", () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), (markdown) => {
        const once = untrusted(markdown, { kind: "issue_body", ...stranger });
        if (once.kind === "unreadable") return;
        expect(visibleText(once.text)).toMatchObject({ text: once.text, removed: {} });
      }),
      { numRuns: 500 },
    );
  });

  it("leaves no hidden code point, and the text in NFC", () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), (markdown) => {
        const read = untrusted(markdown, { kind: "issue_body", ...stranger });
        if (read.kind === "unreadable") return;
        expect(stripHidden(read.text).removed).toEqual({});
        expect(read.text.normalize("NFC")).toBe(read.text);
      }),
      { numRuns: 300 },
    );
  });

  it("leaves ordinary words and what is in a code block as they are", () => {
    const word = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => stripHidden(text).text.normalize("NFC"));
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const prose = words.join(" ").replaceAll(/[<&[\]`~|$]/g, "");
        const code = words.join("\n").replaceAll("`", "'").replaceAll("\r", "");
        const markdown = `${prose}\n\n\`\`\`\n${stripHidden(code).text.normalize("NFC")}\n\`\`\`\n`;
        expect(visibleText(markdown).text).toBe(markdown);
      }),
    );
  });

  it("refuses a text of more than ten layers, as a value", () => {
    const layered = `&${"amp;".repeat(12)}lt;!-- do X -->`;

    expect(untrusted(layered, { kind: "issue_body", ...stranger })).toMatchObject({
      kind: "unreadable",
      cause: "hides text in more than 10 layers",
    });
  });
});

describe("hostile Markdown of 64 KiB ends (SEC-14)", () => {
  const fill = (unit: string): string => unit.repeat(Math.ceil(65_536 / unit.length)).slice(0, 65_536);

  it.each([
    ["less-than signs", fill("<")],
    ["open comments", fill("<!--")],
    ["open tags", fill("<a ")],
    ["tags", fill("<a>")],
    ["open tags with attributes", fill('<a b="')],
    ["hidden elements", fill("<i hidden>")],
    ["styles with comments", `<i style="${fill("/*")}">`],
    ["scripts", fill("<script>")],
    ["references", fill("&amp;")],
    ["open brackets", fill("[")],
    ["nested brackets", `${"[".repeat(32_768)}${"]".repeat(32_768)}`],
    ["nested images", `${fill("![").slice(0, 32_768)}${fill("](a)").slice(0, 32_768)}`],
    ["links", fill("[a](b)")],
    ["definitions", fill("[a]: b\n")],
    [
      "definitions and brackets",
      `${Array.from({ length: 4_000 }, (_, at) => `[${at}]: x\n`).join("")}\n${fill("[a]").slice(0, 32_768)}`,
    ],
    [
      "footnotes",
      Array.from({ length: 4_000 }, (_, at) => `[^${at}]\n\n[^${at}]: x\n\n`)
        .join("")
        .slice(0, 65_536),
    ],
    ["stars", fill("*a_<b> ")],
    ["tildes", fill("~a~~")],
    ["backticks of every length", Array.from({ length: 360 }, (_, at) => "`".repeat(at + 1)).join(" ")],
    ["nested quotes", `${fill("> ")}<b>`],
    ["nested quotes on every line", fill(`${"> ".repeat(30)}[a]\n`)],
    ["nested lists", `<b>\n\n`.concat(...Array.from({ length: 250 }, (_, at) => `${"  ".repeat(at)}- a\n`))],
    ["lists on one line", `${fill("- ")}<b>`],
    ["table cells", `|${fill("a|").slice(0, 30_000)}\n|${fill("-|").slice(0, 30_000)}\n`],
    ["table rows", `| a |\n|---|\n${fill("| b | c |\n")}`],
    ["addresses", fill("www.a.b http://c.d e@f.g ")],
    ["underscored addresses", fill("a_@b.")],
    ["a paragraph of lines", fill("<b>\na\n")],
  ])("%s", (_, markdown) => {
    expect(["untrusted", "unreadable"]).toContain(untrusted(markdown, { kind: "issue_body", ...stranger }).kind);
  });
});
