import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type ChangeSet, createRedactor, type FileChange, Secret } from "../../src/domain/index.ts";
import { passCommitGate } from "../../src/gateway/index.ts";
import type { PublishedText } from "../../src/gateway/secret-scan.ts";
import { letters, plantedPem, plantedSecrets } from "../support/planted-secrets.ts";

const live = letters(32);
const redactor = createRedactor([new Secret(live)]);
const limits = { files: 20, lines: 800 };

const entry = (text: string) => ({
  mode: "100644" as const,
  blobSha: createHash("sha1")
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest("hex"),
});

/** A file as it was and as it is; null where it is not there. */
type File = readonly [path: string, before: string | null, after: string | null];

const changeOf = ([path, before, after]: File): FileChange => ({
  path,
  before: before === null ? null : { ...entry(before), sizeBytes: Buffer.byteLength(before) },
  after: after === null ? null : { ...entry(after), content: Buffer.from(after) },
});

function pass(files: readonly File[], texts: readonly PublishedText[] = [], lineCount = 1) {
  const changeSet: ChangeSet = { changes: files.map(changeOf) };
  const base = new Map(files.map(([path, before]) => [path, before]));
  const readBase = (path: string) => Promise.resolve(Buffer.from(base.get(path) ?? ""));
  return passCommitGate({ redactor }, { changeSet, readBase, texts, limits, lineCount });
}

async function causesOf(...parts: Parameters<typeof pass>): Promise<readonly string[]> {
  const answer = await pass(...parts);
  return answer.kind === "refused" ? answer.causes : [];
}

const switches = [
  "// secretlint-disable",
  "/* secretlint-disable */",
  "<!-- secretlint-disable -->",
  "# secretlint-disable-next-line",
  "# gitleaks:allow",
  "# pragma: allowlist secret",
];

describe("the commit gate (SEC-97, AT-33)", () => {
  it.each([...plantedSecrets(), ["live-secret", live] as const])("stops a new file with a %s", async (rule, secret) => {
    for (const text of [`a\nb\n${secret}\nc\n`, ...switches.map((line) => `a\n${line}\n${secret}\n`)]) {
      const causes = await causesOf([["src/a.ts", null, text]]);

      expect(causes).toEqual([`what looks like a secret (${rule}) in src/a.ts, line 3`]);
      expect(causes.join()).not.toContain(secret.slice(-12));
    }
  });

  it("has no effect of a comment on what only secretlint knows", async () => {
    const stripe = `sk_${"live"}_${letters(24)}`;
    for (const line of switches) {
      expect(await causesOf([["a.yml", null, `${line}\nkey: ${stripe}\n`]])).toEqual([
        "what looks like a secret (secretlint:stripe) in a.yml, line 2",
      ]);
    }
  });

  it.each(["the branch", "the commit message", "the title", "the body"])("stops a secret in %s", async (name) => {
    for (const secret of [live, Buffer.from(live).toString("base64"), `gh${"p"}_${letters(36)}`]) {
      const causes = await causesOf([["a.ts", null, "a\n"]], [{ name, text: `see\n${secret}` }]);

      expect(causes).toEqual([expect.stringMatching(new RegExp(`\\) in ${name}, line 2$`))]);
    }
  });

  it("stops a secret in the name of a file, and does not show it", async () => {
    const token = `gh${"p"}_${letters(36)}`;
    const causes = await causesOf([[`src/${token}/a.ts`, null, "a\n"]]);

    expect(causes).toEqual(["what looks like a secret (github-token) in the name src/[redacted]/a.ts, line 1"]);
  });

  it("looks at added lines alone: what the base has stays, also in a file that is moved", async () => {
    const pem = plantedPem();
    const before = `a\n${pem}z\n`;

    expect(await causesOf([["a.ts", before, `a\n${pem}changed\n`]])).toEqual([]);
    expect(
      await causesOf([
        ["old.ts", before, null],
        ["new.ts", null, before],
      ]),
    ).toEqual([]);
    expect(await causesOf([["a.ts", before, `a\nb\n${plantedPem()}`]])).toHaveLength(1);
    expect(await causesOf([["other.ts", null, before]])).toHaveLength(1);
  });

  it.each([
    "const author = keyboard.token; // a token = a word",
    "password: process.env.PASSWORD,",
    "api_key = os.environ['API_KEY']",
    "//registry.example.org/:_authToken=${NPM_TOKEN}",
  ])("lets a name alone pass: %s", async (line) => {
    expect(await causesOf([["a.ts", null, `${line}\n`]])).toEqual([]);
  });

  it("finds a secret at the end of a very long line", async () => {
    const token = `gh${"p"}_${letters(36)}`;
    const stripe = `sk_${"live"}_${letters(24)}`;
    for (const secret of [token, stripe]) {
      expect(await causesOf([["a.js", null, `${"var a = 1; ".repeat(20_000)}${secret};\n`]])).toHaveLength(1);
    }
  });
});

describe("the size of a change (SEC-98)", () => {
  it("is at most that of the settings", async () => {
    const files = Array.from({ length: 21 }, (_, at): File => [`f${at}`, null, "x\n"]);

    expect(await causesOf(files.slice(1), [], 800)).toEqual([]);
    expect(await causesOf(files, [], 801)).toEqual([
      "21 files are changed, 20 are allowed",
      "801 lines are added or removed, 800 are allowed",
    ]);
  });

  it("is the change set itself where it passes", async () => {
    const answer = await pass([["a.ts", "a\n", "b\n"]]);

    expect(answer).toMatchObject({ kind: "passed", changeSet: { changes: [{ path: "a.ts" }] } });
  });
});
