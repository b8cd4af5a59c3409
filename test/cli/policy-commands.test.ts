import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandLine } from "../support/cli.ts";

const root = join(import.meta.dirname, "../..");
const shipped = (set: string): string => join(root, "policies", set);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-policy-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const policy = (...argv: readonly string[]) =>
  commandLine(["policy", ...argv], { folder, policiesFolder: shipped("standard") });

/** A copy of the set `standard` with another text in one file. */
function copied(name: string, file: string, change: (text: string) => string): string {
  const copy = join(folder, name);
  cpSync(shipped("standard"), copy, { recursive: true });
  const path = join(copy, file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
  return name;
}

describe("`policy check` (AUD-32)", () => {
  it.each(["standard", "strict", "read-only"])(
    "passes the shipped set `%s`, and the docs show its report as it is",
    async (set) => {
      const ended = await policy("check", shipped(set));

      expect(ended).toMatchObject({ exitCode: 0, err: "" });
      const [, ...report] = ended.out.split("\n");
      const page = readFileSync(join(root, "docs/policies.md"), "utf8");
      expect(page).toContain(`### \`${set}\`\n\n\`\`\`text\n${report.join("\n")}\`\`\`\n`);
    },
  );

  it("looks at the operator's own folder where none is named", async () => {
    expect((await policy("check")).out).toContain(`policies in ${shipped("standard")}`);
  });

  it("exits 1 on a way round that no policy accepts, and shows the chain", async () => {
    const name = copied("unaware", "permits.cedar", (text) => text.replace('@accepts("write_protected")\n', ""));

    const [ended, asJson] = [await policy("check", name), await policy("check", name, "--json")];

    expect(ended.exitCode).toBe(1);
    expect(ended.out).toContain(
      "write_protected: edit_file, create_file, delete_file can't do it alone, run_command can; NOT ACCEPTED",
    );
    expect(asJson.exitCode).toBe(1);
    expect(JSON.parse(asJson.out)).toMatchObject({
      ok: false,
      detours: [{ capability: "write_protected", chain: ["run_command"], accepted_by: null }],
    });
  });

  it.each([
    [
      "a policy that does not parse",
      "permits.cedar",
      (text: string) => text.replace("permit (", "permt ("),
      /permits\.cedar:4:1/,
    ],
    [
      "a misspelt action",
      "permits.cedar",
      (text: string) => text.replace('Action::"execute"', 'Action::"exekute"'),
      /permits\.cedar:\d+:\d+.*did you mean/,
    ],
    [
      "a misspelt capability",
      "permits.cedar",
      (text: string) => text.replace("write_protected", "write_protect"),
      /permits\.cedar:\d+:1.*did you mean `write_protected`/,
    ],
    [
      "an unknown setting",
      "operator.json",
      (text: string) => text.replace("failure_policy", "faliure_policy"),
      /operator\.json.*faliure_policy/,
    ],
  ])("exits 2 on %s, in one line with the place", async (what, file, change, line) => {
    const ended = await policy("check", copied(what.replaceAll(" ", "-"), file, change));

    expect(ended).toMatchObject({ exitCode: 2, out: "" });
    expect(ended.err).toMatch(line);
    expect(ended.err.split("\n")).toHaveLength(2);
  });
});

describe("`policy test` (AUD-33)", () => {
  it.each(["standard", "strict", "read-only"])(
    "says how many cases of `%s` hold: all, with the tools there are",
    async (name) => {
      expect(await policy("test", shipped(name))).toMatchObject({
        exitCode: 0,
        out: expect.stringMatching(/^\d+ cases hold\n$/),
      });
    },
  );

  it("exits 1 where an answer is another one, and shows the first with its reason; a policy no case decides is listed", async () => {
    const name = copied("wrong", "approvals.cedar", (text) =>
      `${text.replace('"manifest"\n}', '"none"\n}')}\n@id("idle") forbid (principal, action, resource) when { context.attempt > 99 };\n`.replace(
        'context.path.protection == "manifest"',
        'context.path.protection == "generated"',
      ),
    );

    const [ended, asJson] = [await policy("test", name), await policy("test", name, "--json")];

    expect(ended.exitCode).toBe(1);
    expect(ended.out).toMatch(/^tests\/approvals\.json: .*\n {2}expected .*\n {2}got .*\n {2}because /);
    expect(ended.out).toContain("decided by no case: idle");
    expect(asJson.exitCode).toBe(1);
    expect(JSON.parse(asJson.out)).toMatchObject({ ok: false, undecided: ["idle"] });
  });

  it.each([
    ["no case at all", (): string => '{ "cases": [] }', /there is no case/],
    [
      "a key that there is none of",
      (text: string) => text.replace('"reason"', '"raeson"'),
      /tests\/only\.json.*raeson/,
    ],
    [
      "a request that is none",
      (text: string) => text.replace('"RESTRICTED"', '"RESTRCTED"'),
      /tests\/only\.json.*risk/,
    ],
    [
      "a key twice",
      (text: string) => text.replace('"cases"', '"base": {}, "cases"'),
      /tests\/only\.json:\d+:\d+.*duplicate_key/,
    ],
    ["half a file", (text: string) => text.slice(0, 40), /tests\/only\.json:\d+:\d+/],
  ])("exits 2 on %s, naming the file", async (what, change, line) => {
    const name = copied(`cases-${what.replaceAll(" ", "-")}`, "permits.cedar", (text) => text);
    const whole = readFileSync(join(shipped("read-only"), "tests/forbids.json"), "utf8");
    rmSync(join(folder, name, "tests"), { recursive: true });
    cpSync(join(shipped("read-only"), "tests/forbids.json"), join(folder, name, "tests/only.json"), {
      recursive: true,
    });
    writeFileSync(join(folder, name, "tests/only.json"), change(whole));

    const ended = await policy("test", name);

    expect(ended).toMatchObject({ exitCode: 2, out: "" });
    expect(ended.err).toMatch(line);
  });
});
