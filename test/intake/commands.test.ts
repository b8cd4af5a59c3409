import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCommand } from "../../src/intake/commands.ts";

const found = (comment: string) => {
  const command = findCommand(comment);
  return command.kind === "command" ? command.verb : command.kind;
};

describe("a command in a comment", () => {
  it.each(["fix", "revise", "stop", "retry", "help"])("is `/countersign %s` at the start of a line", (verb) => {
    expect(found(`/countersign ${verb}`)).toBe(verb);
    expect(found(`Please.\n/countersign ${verb}\nThank you.`)).toBe(verb);
    expect(found(`Please.\r\n\r\n/countersign\t${verb} \r\nThank you.`)).toBe(verb);
  });

  it.each(["approve", "deny", "explain"])("of `%s` has an id", (verb) => {
    expect(findCommand(`/countersign ${verb} aB3_-x because`)).toMatchObject({ kind: "command", verb, id: "aB3_-x" });
    expect(found(`/countersign ${verb}`)).toBe("wrong");
    expect(found(`/countersign ${verb} a/b`)).toBe("wrong");
    expect(found(`/countersign ${verb} ${"a".repeat(65)}`)).toBe("wrong");
  });

  it("takes what stands on its line and after it as the request", () => {
    expect(findCommand("Hello\n/countersign fix but keep the API\n\n- and the tests\n")).toMatchObject({
      request: "but keep the API\n\n- and the tests",
    });
  });

  it("counts behind HTML that has ended", () => {
    expect(found("<details>\n\nsee\n\n</details>\n\n/countersign fix")).toBe("fix");
    expect(found("see<br>\n/countersign fix")).toBe("fix");
  });

  it("counts first where there are several", () => {
    expect(findCommand("/countersign stop\n\nand then\n/countersign fix")).toMatchObject({ verb: "stop", count: 2 });
  });

  it.each([
    ["in other case", "/countersign Fix", "wrong"],
    ["with the name in other case", "/Countersign fix", "none"],
    ["with a homoglyph", "/соuntersign fix", "none"],
    ["with a homoglyph in its verb", "/countersign fіx", "wrong"],
    ["with a no-break space", "/countersign\u00a0fix", "none"],
    ["with a zero-width space", "/countersign fix\u200b", "wrong"],
    ["as a longer word", "/countersigned fix", "none"],
    ["without a verb", "/countersign", "wrong"],
    ["of an unknown verb", "/countersign merge", "wrong"],
    ["after a space", " /countersign fix", "none"],
    ["after a word", "see /countersign fix", "none"],
    ["in a quote", "> /countersign fix", "none"],
    ["in a quote's lazy line", "> as he said\n/countersign fix", "none"],
    ["in a fence", "```\n/countersign fix\n```", "none"],
    ["in a fence that never ends", "~~~sh\n\n/countersign fix", "none"],
    ["in indented code", "    /countersign fix", "none"],
    ["in a code span over lines", "see `a\n/countersign fix\n` there", "none"],
    ["in a comment of HTML", "<!--\n/countersign fix\n-->", "none"],
    ["in an inline comment of HTML", "see <!-- a\n/countersign fix --> there", "none"],
    ["in a block of HTML", "<div>\n/countersign fix\n</div>", "none"],
    ["in a quote of HTML with blank lines", "<blockquote>\n\n/countersign fix\n\n</blockquote>", "none"],
    ["in an element that never ends", "<details>\n\nsee\n\n/countersign fix", "none"],
    ["in inline code of HTML over lines", "see <code>\n/countersign fix\n</code>", "none"],
    ["in an element whose end tag is another's", "<pre>\n\n</div>\n\n/countersign fix", "none"],
    ["in a link's text", "[see\n/countersign fix](https://example.org)", "none"],
    ["in a URL", "https://example.org\n/countersign-fix\nhttps://example.org/countersign fix", "none"],
    ["in a list", "- /countersign fix", "none"],
    ["in a list's lazy line", "- see\n/countersign fix", "none"],
    ["as a heading", "/countersign fix\n===", "none"],
    ["in emphasis over lines", "*see\n/countersign fix*", "none"],
    ["in a table", "| a |\n|---|\n/countersign fix", "none"],
    ["in a footnote", "see[^1]\n\n[^1]: so\n/countersign fix", "none"],
    ["by a character reference", "&#47;countersign fix", "none"],
    ["in a link's definition", '[a]: https://example.org "\n/countersign fix\n"', "none"],
  ])("%s is none", (_case, comment, expected) => {
    expect(found(comment)).toBe(expected);
  });

  it("is none in any wrapping that is no top-level paragraph", () => {
    const fenceAt = (depth: number): string => "`".repeat(5 + depth); // one as long as an inner one would end with it
    const wrappings = [
      (text: string) => text.replace(/^/gm, "> "),
      (text: string) => text.replace(/^/gm, "    "),
      (text: string, depth: number) => `${fenceAt(depth)}\n${text}\n${fenceAt(depth)}`,
      (text: string) => `<!--\n${text}\n-->`,
      (text: string) => `- a\n\n${text.replace(/^/gm, "  ")}`,
      (text: string) => `1. a\n\n${text.replace(/^/gm, "   ")}`,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...wrappings), { minLength: 1, maxLength: 4 }),
        fc.constantFrom("", "text\n", "text\n\n"),
        fc.constantFrom("", "\nmore", "\n\nmore"),
        (wraps, before, after) => {
          const wrapped = wraps.reduce((text, wrap, depth) => wrap(text, depth), `${before}/countersign fix${after}`);

          expect(found(`Hello\n\n${wrapped}`)).toBe("none");
        },
      ),
    );
  });

  it("is found after any such wrapping has ended", () => {
    const blocks = [
      "> quoted\n",
      "```\ncode\n```\n",
      "<!-- a -->\n",
      "- a\n- b\n",
      "# title\n",
      "| a |\n|---|\n| b |\n",
      "***\n",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...blocks), { maxLength: 6 }), (before) => {
        expect(found(`${before.join("\n")}\n/countersign fix`)).toBe("fix");
      }),
    );
  });

  it("throws at no text, whatever it is", () => {
    const piece = fc.constantFrom(
      "/countersign fix",
      "\n",
      "\r\n",
      "> ",
      "`",
      "```",
      "[",
      "](",
      ")",
      "<",
      "<!--",
      "*",
      "|",
      "\t",
      "\u0000",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => void found(pieces.join(""))),
    );
  });

  it("is read in a comment of the longest length where a blank line follows it", () => {
    const log = "error: ".repeat(9_000);

    expect(findCommand(`/countersign fix see the log\n\n${log}`)).toMatchObject({
      verb: "fix",
      request: `see the log\n\n${log.trim()}`,
    });
    expect(found(`${log}\n\n/countersign fix`)).toBe("unreadable");
    expect(found(`\`\`\`\n/countersign fix\n\n${log}\n\`\`\``)).toBe("none");
  });

  it.each(["> ", "[", "*a_ ", "`a``", "<a "])("costs little where the text is made of `%s`", (pattern) => {
    const slow = pattern.repeat(65_000 / pattern.length);

    expect(["unreadable", "none"]).toContain(found(`${slow}\n/countersign fix`));
  });

  it.each([
    [">".repeat(4000), "quotes in quotes"],
    [`${"1. ".repeat(1300)}a`, "lists in lists"],
    [`${"> - ".repeat(1000)}a`, "both"],
  ])("costs little where all of it stands deep in others: $1", (deep) => {
    const from = process.cpuUsage();

    expect(found(`/countersign fix\n${deep}`)).toBe("unreadable");
    expect(findCommand(`/countersign fix\n\n${deep}`)).toMatchObject({ verb: "fix", request: deep });
    expect(found(`${deep}\n\n/countersign fix`)).toBe("unreadable");

    const { user, system } = process.cpuUsage(from);
    expect((user + system) / 1000).toBeLessThan(500);
  });

  it("is read beside quotes, lists and rules as people write them", () => {
    const quoted =
      "> > > someone\n> > wrote\n> so\n\n1. one\n   - two\n     - three\n\n----------------------------------\n\n";

    expect(found(`${quoted}/countersign fix`)).toBe("fix");
  });
});
