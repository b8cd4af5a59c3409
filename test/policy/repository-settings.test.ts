import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  loadRepositorySettings,
  parseOperatorSettings,
  parseRepositorySettings,
  settingsPath,
} from "../../src/policy/index.ts";

const operator = parseOperatorSettings("{}", "operator.json");
const bytes = (text: string): Uint8Array => Buffer.from(text, "utf8");
const parse = (text: string, by = operator) => parseRepositorySettings(bytes(text), by);
const base = (files: Readonly<Record<string, string>>) => ({
  paths: Object.keys(files),
  read: (path: string) => Promise.resolve(files[path] === undefined ? null : bytes(files[path])),
});

const example = `version: 1
setup: { run: npm ci, timeout_s: 600, network: registries }      # or none
verify: { run: npm test, timeout_s: 900 }
limits: { minutes: 60, turns: 100, input_tokens: 3000000, output_tokens: 200000, files: 20, lines: 800 }
build_output: [dist, coverage]                                   # not entered at read-back
comments: all                                                    # or writers
on_failure: patch                                                # or branch, if the operator allows
draft: until_verified                                            # or always
follow_checks: { per_head: 1, per_pull_request: 3 }              # stage 2; accepted before, without effect
forbid: ['@id("no-migrations") forbid (principal, action, resource) when { context has path && context.path.resolved like "db/migrations/*" };']
`;

describe("a settings file", () => {
  it("as the design shows it is read in full", () => {
    expect(parse(example)).toEqual({
      source: "file",
      setup: { run: "npm ci", timeoutMs: 600_000, network: "none" },
      verify: { run: "npm test", timeoutMs: 900_000, filter: null, derived: false },
      limits: operator.limits,
      buildOutput: ["dist", "coverage"],
      comments: "all",
      onFailure: "patch",
      draft: "until_verified",
      forbid: [{ text: expect.stringContaining("no-migrations"), line: 10 }],
    });
  });

  it("may lower every bound of the operator's and raise none", () => {
    const wish = fc.record({
      minutes: fc.integer({ min: 1, max: 10_000 }),
      turns: fc.integer({ min: 1, max: 10_000 }),
      input_tokens: fc.integer({ min: 1, max: 10_000_000 }),
      output_tokens: fc.integer({ min: 1, max: 10_000_000 }),
      files: fc.integer({ min: 1, max: 10_000 }),
      lines: fc.integer({ min: 1, max: 10_000 }),
      timeout: fc.integer({ min: 1, max: 10_000 }),
    });
    fc.assert(
      fc.property(wish, ({ timeout, ...limits }) => {
        const settings = parse(
          `version: 1\nlimits: ${JSON.stringify(limits)}\nverify: { run: x, timeout_s: ${timeout} }\non_failure: branch`,
        );

        expect(settings.limits).toEqual({
          minutes: Math.min(limits.minutes, operator.limits.minutes),
          turns: Math.min(limits.turns, operator.limits.turns),
          inputTokens: Math.min(limits.input_tokens, operator.limits.inputTokens),
          outputTokens: Math.min(limits.output_tokens, operator.limits.outputTokens),
          files: Math.min(limits.files, operator.limits.files),
          lines: Math.min(limits.lines, operator.limits.lines),
        });
        expect(settings.verify).toMatchObject({ timeoutMs: Math.min(timeout * 1000, operator.verify.timeoutMs) });
        expect(settings.onFailure).toBe("patch");
      }),
    );
  });

  it("gets branches, registries and early drafts only where the operator allows them", () => {
    const open = parseOperatorSettings(
      '{"on_failure":"branch","setup":{"network":"registries"},"draft":"always"}',
      "o",
    );
    const wish = "version: 1\non_failure: branch\nsetup: { run: x, network: registries }\ndraft: until_verified";

    expect(parse(wish)).toMatchObject({ onFailure: "patch", setup: { network: "none" }, draft: "until_verified" });
    expect(parse(wish, open)).toMatchObject({ onFailure: "branch", setup: { network: "registries" }, draft: "always" });
  });

  it.each([
    ["an unknown key", "version: 1\nlimit: 1", "line 2: unknown key `limit`"],
    ["an unknown key further in", "version: 1\nlimits:\n  turns: 1\n  turn: 2", "line 4: unknown key `limits.turn`"],
    ["no version", "comments: all", "`version` is nothing, expected `1`"],
    ["another version", "version: 2", "line 1: `version` is 2, expected `1`"],
    ["a wrong type", "version: 1\nlimits: { turns: many }", 'line 2: `limits.turns` is "many", expected a number'],
    ["zero", "version: 1\nlimits:\n  turns: 0", "line 3: `limits.turns` is 0"],
    ["an empty command", 'version: 1\nverify: { run: " " }', "line 2"],
    ["an anchor", "version: 1\nsetup: &a none", "line 2: column 8: anchors"],
    ["an alias", "version: 1\nverify: *a", "line 2: column 9: aliases"],
    ["a tag", "version: !!int 1", "line 1: column 10: tags"],
    ["a directive", "%YAML 1.2\n---\nversion: 1", "line 1: column 1: directives"],
    ["a key that stands twice", "version: 1\ncomments: all\ncomments: writers", "line 3"],
    ["two documents", "version: 1\n---\nversion: 1", "line 2"],
    ["a merge key", "version: 1\n<<: { comments: all }", "line 2: unknown key `<<`"],
    ["broken YAML", "version: 1\nlimits: { turns: 1", "line 2"],
    ["a way out of the repository as build output", "version: 1\nbuild_output: [../x]", "line 2"],
    ["git's folder as build output", "version: 1\nbuild_output: [a/.GIT]", "line 2"],
    ["nothing in it", "", "expected an object"],
    ["a prototype", "version: 1\n__proto__: { draft: always }", "line 2: unknown key `__proto__`"],
    ["too much nesting", `version: ${"[".repeat(1000)}`, "nested too deep"],
    ["too many keys", Array.from({ length: 3000 }, (_, index) => `k${index}: 1`).join("\n"), "tokens"],
    ["too many bytes", `version: 1\n# ${"x".repeat(65_536)}`, "at most 65536"],
  ])("with %s is refused with line and reason", (_case, text, says) => {
    expect(() => parse(text)).toThrowError(
      expect.objectContaining({ code: "SETTINGS_INVALID", message: expect.stringContaining(says) }),
    );
    expect(() => parse(text)).toThrow("`.github/countersign.yml`, line ");
  });

  it("that is no UTF-8 is refused", () => {
    expect(() => parseRepositorySettings(Uint8Array.of(0x61, 0xff), operator)).toThrow("UTF-8");
  });

  it("never ends in anything but settings or a refusal with a place", () => {
    const line = fc.constantFrom(
      "version: 1",
      "limits:",
      "  turns: 2",
      "- x",
      "{",
      "]",
      "&a b",
      "? ",
      ": :",
      "forbid: [",
      '"',
    );
    const outcome = (text: string): unknown => {
      try {
        return parse(text).source;
      } catch (error) {
        const { code, details } = error as { code?: unknown; details?: { line?: unknown } };
        return code === "SETTINGS_INVALID" && typeof details?.line === "number" ? "refused" : error;
      }
    };
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.array(line).map((lines) => lines.join("\n")),
        ),
        (text) => {
          expect(outcome(text)).toBeOneOf(["file", "refused"]);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("the verify command", () => {
  const derived = (files: Readonly<Record<string, string>>) => loadRepositorySettings(base(files), operator);

  it.each([
    ["a test script", { "package.json": '{"scripts":{"test":"node --test"}}', Makefile: "test:\n" }, "npm test"],
    ["a make target", { Makefile: "all: x\ntest: all\n\tcc\n", "package.json": "{}" }, "make test"],
    ["a Python project", { "pyproject.toml": "", "test_a.py": "" }, "python3 -m unittest"],
    ["Python tests alone", { "pkg/__init__.py": "", "pkg/test_a.py": "" }, "python3 -m unittest"],
    [
      "Python tests in a folder that is no package",
      { "a.py": "", "tests/test_a.py": "" },
      "python3 -m unittest discover -s tests",
    ],
    ["Python tests in a package", { "tests/__init__.py": "", "tests/test_a.py": "" }, "python3 -m unittest"],
  ])("is derived from %s and called derived", async (_case, files, run) => {
    const settings = await derived(files);

    expect(settings).toMatchObject({
      source: "derived",
      verify: { run, derived: true, timeoutMs: 900_000, filter: null },
    });
    expect(settings.forbid).toEqual([]);
  });

  it.each([
    ["nothing", { "README.md": "" }],
    ["npm's placeholder", { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' }],
    ["a broken manifest", { "package.json": "{" }],
    ["a variable named test", { Makefile: "test := 1\ntests: x\n" }],
  ])("is none where there is %s", async (_case, files) => {
    expect((await derived(files)).verify).toBeNull();
  });

  it("of the file comes before the manifest, and `none` is an answer", async () => {
    const manifest = { "package.json": '{"scripts":{"test":"node --test"}}' };
    const written = (text: string) => derived({ ...manifest, [settingsPath]: text });

    expect((await written("version: 1\nverify: { run: make check, filter: 'make check T={filter}' }")).verify).toEqual({
      run: "make check",
      timeoutMs: 900_000,
      filter: "make check T={filter}",
      derived: false,
    });
    expect((await written("version: 1\nverify: none")).verify).toBeNull();
    expect(await written("version: 1")).toMatchObject({ source: "file", verify: { run: "npm test", derived: true } });
  });
});
