import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { untrusted } from "../../src/agent/index.ts";
import { stranger, visibleText } from "../support/texts.ts";

const fence = (language: string, code: string): string => `a\n\n\`\`\`${language}\n${code}\n\`\`\`\n\nb`;
const drawnFence = "a\n\n[diagram]\n\nb";
const hides = "\\phantom{do X}";

describe("what GitHub draws reaches the model as a stand-in, and nothing of its source does (SEC-12)", () => {
  it.each<[what: string, markdown: string, shown: string]>([
    ["a comment in a diagram", fence("mermaid", "graph TD\n%% do X\nA-->B"), drawnFence],
    ["a click line", fence("mermaid", 'click A call doX() "do X"'), drawnFence],
    ["a directive", fence("mermaid", '%%{init: {"do": "X"}}%%\ngraph TD'), drawnFence],
    ["a property of a map", fence("geojson", '{"type":"Point","properties":{"do":"X"}}'), drawnFence],
    ["a map of another kind", fence("topojson", '{"do":"X"}'), drawnFence],
    ["the name of a solid", fence("stl", "solid do X\nendsolid"), drawnFence],
    ["a fence of formulas", fence("math", hides), "a\n\n[formula]\n\nb"],
    ["a language in another case", fence("MerMaid", "%% do X"), drawnFence],
    ["a language with more behind it", fence("mermaid,x do X", "%% do X"), drawnFence],
    ["a language that is encoded", fence("&#109;ermaid", "%% do X"), drawnFence],
    ["a fence of tildes", "~~~mermaid\n%% do X\n~~~\n", "[diagram]\n"],
    ["a fence in a quote", "> ```mermaid\n> %% do X\n> ```\n", "> [diagram]\n"],
    ["a fence in a list that nothing ends", "- ```mermaid\n  %% do X", "- [diagram]"],
    ["dollars in a diagram", `${fence("mermaid", "%% do X $")} c\\$`, `${drawnFence} c\\$`],
    ["the element that GitHub makes of a fence", 'a <pre lang="mermaid"><code>%% do X</code></pre> b', "a  b"],
    ["an image that is drawn", "a <svg><desc>do X</desc></svg> b", "a  b"],
    ["what stands in for a film", "a <video>do X</video> b", "a  b"],
    ["a hidden part", `a $${hides}$ b`, "a [formula] b"],
    ["a colour", "a $\\color{white}{do X}$ b", "a [formula] b"],
    ["a comment in a formula", "a $x % do X\n+y$ b", "a [formula] b"],
    ["a space that moves it away", "a $x\\hspace{99cm}do X$ b", "a [formula] b"],
    ["a formula between two dollars", `a $$${hides}$$ b`, "a [formula] b"],
    ["one over lines, empty ones too", `a\n\n$$\n${hides}\n\n% do X\n$$\n\nb`, "a\n\n[formula]\n\nb"],
    ["the form with backquotes", `a $\`${hides}\`$ b`, "a [formula] b"],
    ["a formula of which a command is encoded", "a $&bsol;phantom{do X}$ b", "a [formula] b"],
    ["a formula of which a dollar is encoded", `a &dollar;${hides}&#36; b`, "a [formula] b"],
    ["a formula in an element", `<p>a $${hides}$ b</p>`, "a [formula] b "],
    ["a formula in a cell", `| a |\n|---|\n| $${hides}$ |\n`, "| a |\n|---|\n| [formula] |\n"],
    ["borders with spaces", `a $ ${hides} $ b`, "a [formula] b"],
    ["an escaped dollar within", "a $\\phantom{\\$do X}$ b", "a [formula] b"],
    ["a dollar in a text within", "a $\\phantom{\\text{x$y$ do X}}$ b", "a [formula] b"],
    ["a dollar in a comment within", "a $x %$y do X\n+z$ b", "a [formula] b"],
    ["a border in a comment within", "a $x %$ do X\n+z$ b", "a [formula] b"],
    ["a dollar before a word, in no group", "a $\\x b$c do X$ d", "a [formula] d"],
    ["an escaped dollar that could be the end", "a $x\\$ do X$ b", "a [formula] b"],
    ["a tag within", "a $\\x<div>do X$b", "a [formula]b"],
    ["a dollar in a diagram that a line follows", "```mermaid\nA[$do X]\n```\nb\\c$ d", "[diagram]\nb\\c$ d"],
    ["borders that are escaped", `a \\$${hides}\\$ b`, "a \\[formula] b"],
    ["a price before it", `US$5 or $${hides}$ b`, "US$5 or [formula] b"],
    ["a dollar at a word before it", `x$a-$${hides}$ b`, "x$a-[formula] b"],
    ["a dollar before a word within", "a $\\phantom{x$b do X}$ c", "a [formula] c"],
    ["markup within", `a $\\phantom{[x](/o/r/do-X) \`do X\` <b>do X</b>}$ b`, "a [formula] b"],
    ["what looks like a link behind it", `a $${hides}$(/o/r/x)`, "a [formula] (/o/r/x)"],
  ])("%s", (_, markdown, shown) => {
    const { text, removed } = visibleText(markdown);

    expect(text).toBe(shown);
    expect(text).not.toMatch(/do.?.?X/i);
    const [, what] = /\[(diagram|formula)\]/.exec(shown) ?? [];
    expect(removed).toMatchObject(what === undefined ? {} : { [what]: 1 });
  });

  it("an element that is opened within a formula hides what follows all the same", () => {
    expect(visibleText("a $\\x<i hidden>$do X</i> b").text).toBe("a [formula] b");
  });

  it.each([
    ["prices", "It was $5 and is $6 (20% more), not $7."],
    ["variables of a shell", "$HOME/$USER and $PATH, ${A}:${B}, $(pwd)$x, `$a\\$b`"],
    ["variables of a program", "$this->sum($a, $b); $.each($x)"],
    ["formulas that hide nothing", "where $a$ is 50% of $b$, and $x^2_{i}$ is C:\\ or \\n"],
    ["a shell's own number", "kill $$ and then $$ again"],
    ["code with dollars", "```sh\necho $a\\$b %$c\n```\n\n    $x\\y$\n\n`$x\\y$`\n"],
    ["code whose language only begins so", "```mathematica\nx %% $y\n```\n"],
  ])("%s stay as they are", (_, markdown) => {
    expect(visibleText(markdown)).toMatchObject({ text: markdown, removed: {} });
  });

  it("the dollars of a title are dollars", () => {
    const title = "`$a\\$b` and $x\\y$ fail";

    expect(visibleText(title, "issue_title")).toMatchObject({ text: title, removed: {} });
  });

  it("two formulas leave the words between them", () => {
    expect(visibleText("where $\\alpha$, which is 50% of $\\beta$, falls").text).toBe(
      "where [formula], which is 50% of [formula], falls",
    );
  });

  it("no word between two dollars and behind a command is left, whatever stands around it", () => {
    const noise = fc.array(fc.constantFrom(..."$ $$ \\$ { } % \\x a . , ( ) \n ` <b> </b> [a](/b) & |".split(" ")), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(noise, noise, (before, after) => {
        const markdown = `${before.join("")} .\n\nx $\\phantom{do X}$ y\n\n. ${after.join("")}`;
        const read = untrusted(markdown, { kind: "issue_body", ...stranger });
        if (read.kind === "unreadable") return;
        const isInCode = before.join("").includes("`"); // then it is shown as code
        expect(isInCode || !read.text.includes("do X")).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("a text whose every dollar would have to be read to its end is refused, as a value (SEC-14)", () => {
    const markdown = "a$b{\\x ".repeat(2_000);

    expect(untrusted(markdown, { kind: "issue_body", ...stranger })).toMatchObject({ kind: "unreadable" });
  });

  it.each([
    ["pairs of dollars", "$$ \\x "],
    ["variables of a script", '$x{ "%s\\n" }\n'],
    ["diagrams", "```mermaid\n%%\n```\n"],
  ])("16 KiB of %s end", (_, unit) => {
    const markdown = unit.repeat(Math.ceil(16_384 / unit.length)).slice(0, 16_384);

    expect(["untrusted", "unreadable"]).toContain(untrusted(markdown, { kind: "issue_body", ...stranger }).kind);
  });
});

describe("what a person sees of links, images, notes and hidden parts, and what the model gets (SEC-12)", () => {
  it.each<[what: string, markdown: string, person: string, model: string]>([
    ["a link without text", "a [](/o/r/do-X) b", "a  b", "a  b"],
    ["one elsewhere", "a [](https://x.example/do-X) b", "a  b", "a  b"],
    ["one whose text is blank", "a [ \u00a0&nbsp;\u2800](/o/r/do-X) b", "a  b", "a  b"],
    ["one whose text is invisible", "a [\u200b&#8203;](/o/r/do-X) b", "a  b", "a  b"],
    ["one whose text is a comment", "a [<!-- do X -->](/o/r/do-X) b", "a  b", "a  b"],
    ["one whose text is hidden", "a [<i hidden>do X</i>](/o/r/do-X) b", "a  b", "a  b"],
    ["one whose image is not kept", "a [![do X](https://x.example/i.png)](/o/r/do-X) b", "a (image) b", "a  b"],
    ["one by reference without text", "a [][do X] b\n\n[do X]: /o/r/do-X", "a [] b", "a  b\n\n"],
    ["an image", "a ![do X](https://x.example/do-X.png) b", "a (image) b", "a  b"],
    ["an image without alt", "a ![](https://x.example/do-X.png) b", "a (image) b", "a  b"],
    ["an image of the repository", "a ![do X](i.png) b", "a (image) b", "a ![](<i.png>) b"],
    ["an image of no size", 'a <img width="0" height="0" alt="do X" src="/do-X"> b', "a  b", "a  b"],
    [
      "an address whose target is another",
      "[https://a.example](https://x.example/do-X)",
      "https://a.example",
      "https://a.example",
    ],
    [
      "an address with a query on the host",
      "https://github.com/o/r/issues/1?do=X",
      "#1",
      "https://github.com/o/r/issues/1",
    ],
    ["one in angle brackets", "<https://github.com/o/r/issues/1#do-X>", "#1", "<https://github.com/o/r/issues/1>"],
    ["one that begins with www", "www.github.com/o/r", "www.github.com/o/r", "www.github.com/o/r"],
    [
      "a comment's address",
      "https://github.com/o/r/issues/1#issuecomment-2",
      "#1 (comment)",
      "https://github.com/o/r/issues/1#issuecomment-2",
    ],
    ["an address elsewhere", "https://x.example/a?b=c#d", "the same", "https://x.example/a?b=c#d"],
    ["a note that nothing refers to", "a\n\n[^x]: do X\n", "a", "a\n\n\n"],
    ["a definition that nothing uses", "a\n\n[x]: /o/r 'do X'\n", "a", "a\n\n\n"],
    ["a folded part", "<details><summary>s</summary>t</details>", "s, and t once it is opened", "s t "],
    ["a comment", "a <!-- do X --> b", "a  b", "a  b"],
    ["an element that is hidden", "a <p hidden>do X</p> b", "a  b", "a  b"],
    ["one that only readers of screens don't hear", 'a <i aria-hidden="true">t</i> b', "a t b", "a t b"],
  ])("%s", (_, markdown, _person, model) => {
    expect(visibleText(markdown).text).toBe(model);
    expect(model).not.toMatch(/do.?X/i);
  });

  it("counts what is taken out of links and addresses by kind (SEC-15)", () => {
    expect(visibleText("[](/o) https://github.com/o/r?x ```\n").removed).toEqual({ empty_link: 1, address_end: 1 });
  });
});
